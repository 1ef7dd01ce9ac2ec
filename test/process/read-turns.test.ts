// What keeps one busy process from being read for ever while others wait, and what puts the pieces of a terminal together.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Burst } from '#src/process/burst.js';
import { ReadTurns } from '#src/process/read-turns.js';
import { settle } from '../support/fake-clock.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('readers go on in the order they asked, two in a turn of the event loop', async () => {
  const turns = new ReadTurns();
  const read: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) turns.wait(() => read.push(name));
  turns.wait(() => turns.wait(() => read.push('again')));
  assert.equal(read.length, 0);
  await nextTurn();
  assert.deepEqual(read, ['a', 'b']);
  await nextTurn();
  assert.deepEqual(read, ['a', 'b', 'c', 'd']);
  await settle();
  assert.deepEqual(read, ['a', 'b', 'c', 'd', 'e', 'again']);
});

describe('a burst', () => {
  function collect() {
    const passed: string[] = [];
    return { burst: new Burst((bytes) => passed.push(Buffer.from(bytes).toString())), passed };
  }

  test('passes its first piece on at once and the rest together, when a turn has brought nothing more', async () => {
    const { burst, passed } = collect();
    for (const piece of ['1', '2', '3']) burst.add(Buffer.from(piece));
    assert.deepEqual(passed, ['1']);
    await nextTurn();
    burst.add(Buffer.from('4'));
    assert.deepEqual(passed, ['1']);
    await settle();
    assert.deepEqual(passed, ['1', '234']);
    burst.add(Buffer.from('5'));
    assert.deepEqual(passed, ['1', '234', '5']);
  });

  test('is passed on when it is full, in order, and when asked to', () => {
    const { burst, passed } = collect();
    const pieces = ['a', 'b'.repeat(20_000), 'c'.repeat(12_768), 'd', 'e'.repeat(40_000), 'f'];
    for (const piece of pieces) burst.add(Buffer.from(piece));
    assert.deepEqual(
      passed.map(({ length }) => length),
      [1, 32_768, 1, 40_000],
    );
    burst.flush();
    burst.flush();
    assert.equal(passed.join(''), pieces.join(''));
  });

  test('keeps what it was given although the buffer it came in is used again', async () => {
    const { burst, passed } = collect();
    const buffer = Buffer.from('x');
    burst.add(buffer);
    burst.add(buffer);
    buffer.write('y');
    await settle();
    assert.deepEqual(passed, ['x', 'x']);
  });
});
