// All promises at once, under every kind of fault: thousands of scenarios on simulated time, wires and programs.
//
//   SIMULATION_SEEDS=20000 npm test -- --only-tests simulation    more scenarios
//   npm run simulate -- --seed 123456                             one scenario, step by step

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { knownBreaks } from './known-breaks.js';
import { report, runSeed, shrink } from './seeds.js';
import { simulate } from './simulation.js';

/** Takes seconds on a small machine. Each run of the suite uses the same seeds, so a failure is never a matter of luck. */
const seeds = Number(process.env['SIMULATION_SEEDS'] ?? 500);

/** Seeds to run each known scenario with. */
const lucks = 25;

/** Run twice to check that a seed determines everything. */
const comparedSeeds = 40;

test(`no promise is broken in any of ${seeds} simulated scenarios`, async (context) => {
  let events = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const outcome = await runSeed(seed);
    events += outcome.events;
    if (outcome.failure !== undefined) assert.fail(report(await shrink(seed)));
  }
  context.diagnostic(`${events} events`);
});

describe('promises that were once broken', () => {
  for (const { promise, scenario } of knownBreaks) {
    test(promise, async () => {
      for (let luck = 0; luck < lucks; luck += 1) {
        const { failure } = await simulate({ luck, ...scenario }, { traced: false });
        assert.equal(failure, undefined, `luck ${luck}`);
      }
    });
  }
});

test('the same seed produces the same events in the same order', async () => {
  for (let seed = 1; seed <= comparedSeeds; seed += 1) {
    const [once, again] = [await runSeed(seed, { traced: true }), await runSeed(seed, { traced: true })];
    assert.deepEqual(again.trace, once.trace, `seed ${seed}`);
    assert.ok(once.trace.length > 0);
  }
});
