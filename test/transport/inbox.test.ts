// Messages that arrive without a listener or while the channel is paused are kept in order and counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox } from '#src/transport/inbox.js';

function fill(inbox: Inbox): void {
  inbox.message('one');
  inbox.binary(Uint8Array.of(2));
  inbox.unreadable('three');
}

function recorder() {
  const seen: unknown[] = [];
  return {
    seen,
    message: (text: string) => void seen.push(text),
    binary: (frame: Uint8Array) => void seen.push([...frame]),
    unreadable: (problem: string) => void seen.push({ problem }),
  };
}

test('messages, frames and unreadable ones are delivered in order once there is a listener', () => {
  const inbox = new Inbox();
  fill(inbox);
  assert.ok(inbox.isHolding && inbox.heldBytes > 'one'.length + 1 + 'three'.length);
  const listener = recorder();
  inbox.listen(listener);
  fill(inbox);
  const all = ['one', [2], { problem: 'three' }];
  assert.deepEqual(listener.seen, [...all, ...all]);
  assert.equal(inbox.heldBytes, 0);
});

test('a listener that pauses during delivery gets the rest later, and then the end', () => {
  const inbox = new Inbox();
  fill(inbox);
  const listener = recorder();
  inbox.listen({ ...listener, binary: (frame) => (listener.binary(frame), inbox.pause()) });
  inbox.end(() => listener.seen.push('end'));
  assert.deepEqual(listener.seen, ['one', [2]]);
  inbox.resume();
  assert.deepEqual(listener.seen, ['one', [2], { problem: 'three' }, 'end']);
});

test('closing discards everything that is held', () => {
  const inbox = new Inbox();
  fill(inbox);
  inbox.close();
  fill(inbox);
  const listener = recorder();
  inbox.listen(listener);
  assert.deepEqual([listener.seen, inbox.heldBytes], [[], 0]);
});
