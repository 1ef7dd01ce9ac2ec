// Plays scenarios full of faults on simulated time, wires and programs, and stops at the first that breaks a promise. It then prints the
// smallest scenario that breaks the promise, what happened in it, and the command that reproduces it.
//
//   npm run simulate -- --seeds 100000 [--from 1]   that many scenarios; each seed is one
//   npm run simulate -- --seed 123456               one of them, printed step by step

import { parseArgs } from 'node:util';
import { report, runSeed, shrink } from '../../dist-test/simulation/seeds.js';
import { wholeNumber } from '../measure.mjs';

/** Scenarios between two progress lines. */
const linesEvery = 5_000;

const { values: options } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string', default: '10000' }, from: { type: 'string', default: '1' } },
});

if (options.seed === undefined) await playMany(wholeNumber('from', options.from), wholeNumber('seeds', options.seeds));
else await playOne(wholeNumber('seed', options.seed));

/** @param {number} seed */
async function playOne(seed) {
  const played = await runSeed(seed, { traced: true });
  console.log(report(played));
  if (played.failure === undefined) return;
  console.log('\nlooking for the smallest scenario that fails in the same way …\n');
  console.log(report(await shrink(seed)));
  process.exitCode = 1;
}

/**
 * @param {number} first
 * @param {number} count
 */
async function playMany(first, count) {
  const startedAt = performance.now();
  let events = 0;
  for (let played = 1; played <= count; played += 1) {
    const outcome = await runSeed(first + played - 1);
    events += outcome.events;
    if (outcome.failure !== undefined) {
      console.log(report(await shrink(outcome.seed)));
      process.exitCode = 1;
      return;
    }
    if (played % linesEvery === 0 || played === count) {
      const seconds = (performance.now() - startedAt) / 1000;
      const speed = `${seconds.toFixed(0)} s, ${(played / seconds).toFixed(0)} per second`;
      console.log(`${played} seeds, ${events} events, nothing broke (${speed})`);
    }
  }
}
