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
