// Measures what starting a process costs, and how that depends on the server's memory: `client.start` on both backends, on a pipe and on
// a pty, compared with bare child_process in the same program. No figure makes it fail.
//
//   npm run bench:spawn -- [--quick] [--json]

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { backendsOf, median, quantile, tableHead, tableRow } from '../scripts/measure.mjs';

/** @import { Memory, Order, Sample, Way } from './spawn-sample.mjs' */

const megabyte = 1_000_000;

/**
 * The others are compared with the first: a server that has just started.
 * @type {Memory[]}
 */
const memories = [
  { name: '60 MB', kind: 'ballast', bytes: 60 * megabyte },
  { name: '310 MB', kind: 'ballast', bytes: 310 * megabyte },
  { name: '1 GB', kind: 'ballast', bytes: 1000 * megabyte },
  { name: '1 GB of retained output', kind: 'retained', bytes: 2 ** 30 },
];

/** @type {Record<Way, string>} */
const ways = { pipe: 'start, pipe', pty: 'start, pty', bare: 'child_process' };
const wayNames = /** @type {const} */ (['pipe', 'pty', 'bare']);

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const { rounds, count } = options.quick ? { rounds: 1, count: 10 } : { rounds: 5, count: 50 };

const startedAt = performance.now();
const results = summarize(await sampleAll());
if (options.json) console.log(JSON.stringify(results, undefined, 2));
else printTable(results);

/** Repeats all cases in rounds instead of finishing one after the other, so that a busy minute affects all of them equally. */
async function sampleAll() {
  const cases = backendsOf('all').flatMap((backend) =>
    memories.map((memory) => ({ backend, memory, samples: /** @type {Sample[]} */ ([]) })),
  );
  for (let round = 0; round < rounds; round += 1) {
    for (const { backend, memory, samples } of cases) samples.push(await sample({ backend, memory, count }));
  }
  return cases;
}

/** @param {Order} order */
async function sample(order) {
  const child = fork(new URL('spawn-sample.mjs', import.meta.url), [JSON.stringify(order)]);
  const exit = once(child, 'exit');
  /** @type {Sample | undefined} */
  let answer;
  child.on('message', (message) => (answer = /** @type {Sample} */ (message)));
  const [code] = await exit;
  if (code !== 0 || answer === undefined) throw new Error(`the sample ${JSON.stringify(order)} ended with code ${code}`);
  return answer;
}

/**
 * Each figure is the median of the rounds.
 * @param {Awaited<ReturnType<typeof sampleAll>>} cases
 */
function summarize(cases) {
  /**
   * @param {Sample[]} samples
   * @param {Way} way
   * @param {number} fraction
   */
  const over = (samples, way, fraction) => median(samples.map((round) => quantile(round.samples[way], fraction)));
  return cases.map(({ backend, memory, samples }) => {
    const base = cases.find((each) => each.backend === backend && each.memory === memories[0])?.samples ?? samples;
    const figures = wayNames.map((way) => ({
      way,
      p50Ms: over(samples, way, 0.5),
      p95Ms: over(samples, way, 0.95),
      ratio: over(samples, way, 0.5) / over(base, way, 0.5),
    }));
    return { backend, memory: memory.name, rssBytes: median(samples.map((round) => round.rssBytes)), figures };
  });
}

/** @param {ReturnType<typeof summarize>} summaries */
function printTable(summaries) {
  const names = wayNames.flatMap((way) => [`${ways[way]}: p50 ms`, 'p95 ms', 'p50 ratio']);
  console.log(tableHead('backend', 'memory', 'RSS MB', ...names));
  for (const { backend, memory, rssBytes, figures } of summaries) {
    const cells = figures.flatMap(({ p50Ms, p95Ms, ratio }) => [p50Ms.toFixed(2), p95Ms.toFixed(2), `${ratio.toFixed(1)}x`]);
    console.log(tableRow(backend, memory, Math.round(rssBytes / megabyte), ...cells));
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const effort = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${count} starts each`;
  console.log(`\n${effort}, in ${seconds} s. Ratios are to the ${memories[0].name} row of the same backend.`);
}
