// The event loop polls instead of sleeping, for a moment and no longer.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { spinBriefly } from '#src/process/input/event-loop-spin.js';
import { eventually } from '../support/eventually.js';

test('the event loop stays awake after a write if there is more than one processor, and then sleeps again', async () => {
  const isAwake = () => process.getActiveResourcesInfo().includes('Immediate');
  for (let write = 0; write < 3; write += 1) {
    spinBriefly();
    assert.equal(isAwake(), availableParallelism() > 1);
    await eventually(() => assert.equal(isAwake(), false));
  }
});
