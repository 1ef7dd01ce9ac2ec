// Mistakes that only a wire without a socket can make: delivering synchronously, and sharing bytes instead of copying them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryChannels } from '#src/transport/memory-channel.js';
import { settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';

guardAgainstLeaks();

test('nothing is delivered before send has returned', async () => {
  const [one, other] = createMemoryChannels();
  const recorder = record(other);
  one.send('{}');
  assert.deepEqual(recorder.arrivals, []);
  await Promise.resolve();
  assert.deepEqual(recorder.arrivals, ['{}']);
});

test('a frame that changes after it was sent arrives unchanged', async () => {
  const [one, other] = createMemoryChannels();
  const recorder = record(other);
  const frame = Uint8Array.of(1, 2);
  one.sendBinary(frame);
  frame.fill(0);
  await settle();
  assert.deepEqual(recorder.arrivals, [{ binary: '0102' }]);
});

test('an end that is closed with a problem passes it to the other', async () => {
  const [one, other] = createMemoryChannels();
  one.close('out of turn');
  assert.deepEqual(await other.closed, { problem: 'closed by the peer: out of turn' });
});
