// Shows what starting a process costs, and how that depends on the memory the server has: `client.start` on both backends, on a
// pipe and on a pty, beside bare child_process in the same program. Figures only: no figure makes it fail.
//
//   npm run bench:spawn -- [--quick] [--json]

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { backendsOf, median, quantile, tableHead, tableRow } from './measure.mjs';

const megabyte = 1_000_000;

/** The first is what the others are compared with: a server that has just started. */
const memories = [
  { name: '60 MB', kind: 'ballast', bytes: 60 * megabyte },
  { name: '310 MB', kind: 'ballast', bytes: 310 * megabyte },
  { name: '1 GB', kind: 'ballast', bytes: 1000 * megabyte },
  { name: '1 GB of retained output', kind: 'retained', bytes: 2 ** 30 },
];

const ways = { pipe: 'start, pipe', pty: 'start, pty', bare: 'child_process' };

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const { rounds, count } = options.quick ? { rounds: 1, count: 10 } : { rounds: 5, count: 50 };

const startedAt = performance.now();
const results = summarize(await sampleAll());
if (options.json) console.log(JSON.stringify(results, undefined, 2));
else printTable(results);

/** Goes through all cases again and again instead of finishing one after the other, so that a busy minute hits all alike. */
async function sampleAll() {
  const cases = backendsOf('all').flatMap((backend) => memories.map((memory) => ({ backend, memory, samples: [] })));
  for (let round = 0; round < rounds; round += 1) {
    for (const { backend, memory, samples } of cases) samples.push(await sample({ backend, memory, count }));
  }
  return cases;
}

async function sample(order) {
  const child = fork(new URL('spawn-sample.mjs', import.meta.url), [JSON.stringify(order)]);
  const exit = once(child, 'exit');
  let answer;
  child.on('message', (message) => (answer = message));
  const [code] = await exit;
  if (code !== 0 || answer === undefined) throw new Error(`the sample ${JSON.stringify(order)} ended with code ${code}`);
  return answer;
}

/** Each figure is the median of what the rounds found. */
function summarize(cases) {
  const summaries = cases.map(({ backend, memory, samples }) => {
    const figures = Object.keys(ways).map((way) => {
      const over = (fraction) => median(samples.map((round) => quantile(round.samples[way], fraction)));
      return [way, { p50Ms: over(0.5), p95Ms: over(0.95) }];
    });
    const rssBytes = median(samples.map((round) => round.rssBytes));
    return { backend, memory: memory.name, rssBytes, ...Object.fromEntries(figures) };
  });
  for (const summary of summaries) {
    const base = summaries.find(({ backend, memory }) => backend === summary.backend && memory === memories[0].name);
    for (const way of Object.keys(ways)) summary[way].ratio = summary[way].p50Ms / base[way].p50Ms;
  }
  return summaries;
}

function printTable(summaries) {
  const names = Object.values(ways).flatMap((way) => [`${way}: p50 ms`, 'p95 ms', 'p50 ratio']);
  console.log(tableHead('backend', 'memory', 'RSS MB', ...names));
  for (const { backend, memory, rssBytes, ...figures } of summaries) {
    const cells = Object.keys(ways).flatMap((way) => {
      const { p50Ms, p95Ms, ratio } = figures[way];
      return [p50Ms.toFixed(2), p95Ms.toFixed(2), `${ratio.toFixed(1)}x`];
    });
    console.log(tableRow(backend, memory, Math.round(rssBytes / megabyte), ...cells));
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const effort = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${count} starts each`;
  console.log(`\n${effort}, in ${seconds} s. Ratios are to the ${memories[0].name} row of the same backend.`);
}
