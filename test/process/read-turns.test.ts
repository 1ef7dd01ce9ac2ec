// Keeps one busy process from being read on end while others wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadTurns } from '#src/process/output/read-turns.js';
import { settle } from '../support/fake-clock.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('readers continue in the order they asked, two per turn of the event loop', async () => {
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
