// Sending through a Node writable: the first message at once, a burst together, and no wait for a drain event that never happens.

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { Outbox } from '#src/transport/outbox.js';
import { settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

guardAgainstLeaks();

describe('in one turn', () => {
  test('the first message is written at once, the others together at the end of the turn', async () => {
    const { outbox, writes } = collect();
    outbox.write('1');
    assert.deepEqual(writes, ['1']);
    outbox.write('2');
    outbox.compose({ length: 2, write: (room) => void room.write('34') });
    assert.deepEqual(writes, ['1']);
    await Promise.resolve();
    outbox.write('5');
    await settle();
    assert.deepEqual(writes, ['1', '2345']);
  });

  test('many messages do not wait for the end of the turn', () => {
    const { outbox, writes } = collect();
    for (let count = 0; count < 5; count += 1) outbox.write('x'.repeat(40_000));
    assert.deepEqual(
      writes.map((text) => text.length),
      [40_000, 80_000, 80_000],
    );
  });
});

test('the first message of the next turn is written at once again', async () => {
  const { outbox, writes } = collect();
  for (const text of ['1', '2', '3']) {
    outbox.write(text);
    await settle();
  }
  assert.deepEqual(writes, ['1', '2', '3']);
});

test('ending the stream does not lose batched messages', async () => {
  const { outbox, writes, writable } = collect();
  outbox.write('1');
  outbox.write('2');
  outbox.close();
  writable.end();
  await settle();
  assert.deepEqual(writes, ['1', '2']);
});

test('a writable whose own mark is above ours is not waited for', async () => {
  const writable = new Writable({ highWaterMark: 2_000_000, write() {} });
  const outbox = new Outbox(writable);
  assert.equal(outbox.write('x'.repeat(1_000_000)), true);
  await outbox.drained();
  assert.equal(outbox.write('x'.repeat(1_000_001)), false);
});

test('long queued messages keep their content, however many there are', () => {
  const taken: Buffer[] = [];
  const writable = new Writable({ write: (content: Buffer, _encoding, _done) => void taken.push(content) });
  const outbox = new Outbox(writable);
  const send = (letter: string) => outbox.compose({ length: 10_000, write: (room) => void room.fill(letter) });
  for (const letter of 'abc') send(letter);
  send('d');
  // The system has the first message and has not reported that it is written.
  assert.equal(taken.map((content) => content.toString()).join(), 'a'.repeat(10_000));
});

describe('a long message', () => {
  /** A writable that takes one piece at a time, when told. */
  const slow = () => {
    const taken: string[] = [];
    const done: (() => void)[] = [];
    const writable = new Writable({
      write(content: Buffer, _encoding, next) {
        taken.push(content.toString());
        done.push(next);
      },
    });
    const takeAll = async () => {
      for (let next = done.shift(); next !== undefined; next = done.shift()) {
        next();
        await settle();
      }
    };
    return { outbox: new Outbox(writable), writable, taken, takeAll };
  };

  /** Pieces of 100 000 bytes, one for each letter, and the letters that have been written. */
  const piecesOf = (letters: string) => {
    const written: string[] = [];
    const pieces = letters.split('').map((letter) => ({
      length: 100_000,
      write: (room: Buffer) => {
        written.push(letter);
        room.fill(letter);
      },
    }));
    return { pieces, written };
  };

  test('is written as the peer takes it, and what follows it waits', async () => {
    const { outbox, taken, takeAll } = slow();
    const { pieces, written } = piecesOf('abcdefgh');
    assert.equal(outbox.composeAll(pieces, 'asTaken'), false);
    assert.ok(written.length < 5, `${written.length} pieces are written although none is taken`);
    assert.equal(outbox.queuedBytes, 800_000);
    outbox.write('1');
    outbox.compose({ length: 1, write: (room) => void room.fill('2') });
    const drained = outbox.drained();
    await takeAll();
    await drained;
    assert.equal(written.join(''), 'abcdefgh');
    assert.equal(taken.join('').replaceAll(/(.)\1*/g, '$1'), 'abcdefgh12');
    assert.equal(outbox.queuedBytes, 0);
  });

  test('is written at once where its bytes may change', () => {
    const { outbox } = slow();
    const { pieces, written } = piecesOf('abcdefgh');
    outbox.composeAll(pieces, 'now');
    assert.equal(written.join(''), 'abcdefgh');
  });

  test('is sent whole before a close', async () => {
    const { outbox, writable, taken, takeAll } = slow();
    outbox.composeAll(piecesOf('abcdefgh').pieces, 'asTaken');
    outbox.close();
    writable.end();
    await takeAll();
    assert.equal(taken.join('').length, 800_000);
  });

  test('is dropped when nothing can be sent any more', () => {
    const { outbox, writable } = slow();
    const { pieces, written } = piecesOf('abcdefgh');
    outbox.composeAll(pieces, 'asTaken');
    const count = written.length;
    writable.destroy();
    outbox.discard();
    assert.equal(written.length, count);
    assert.equal(outbox.write('1'), false);
  });
});

/** An outbox and the content of each write. */
function collect() {
  const writes: string[] = [];
  const writable = new Writable({
    decodeStrings: false,
    write(content: string | Buffer, _encoding, done) {
      writes.push(content.toString());
      done();
    },
    writev(contents: { chunk: string | Buffer }[], done) {
      writes.push(contents.map(({ chunk }) => chunk.toString()).join(''));
      done();
    },
  });
  return { outbox: new Outbox(writable), writes, writable };
}
