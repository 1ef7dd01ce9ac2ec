// Shows that processes leave nothing behind: runs many short ones, half on pipes and half on terminals, waits until they are
// forgotten, and counts descriptors, threads, zombies, timers and memory. Fails if any of these has grown.
//
//   npm run churn -- [--count 2000] [--wait-ms 33000]

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectInProcess } from '../../dist/index.js';
import { childrenOf, descriptorCount, threadCount } from '../../dist-test/support/proc.js';
import { chunksOf, env, inParallel, ios, megabytes, tableHead, tableRow, wholeNumber } from '../measure.mjs';

/** @import { Client } from '../../dist/index.js' */

/** Processes at a time. */
const width = 8;

/** Slightly longer than the 30 s for which ended processes stay readable; a shorter wait shortens that period too. */
const defaultWaitMs = 33_000;

/** Time for V8 to return memory after a collection. */
const collectMs = 300;

/** Allowed memory growth after the first tenth of the run, by when all one-time allocations have been made. */
const growthLimitBytes = 20_000_000;

const { values: options } = parseArgs({
  options: { count: { type: 'string', default: '2000' }, 'wait-ms': { type: 'string', default: `${defaultWaitMs}` } },
});
const count = wholeNumber('count', options.count);
const waitMs = wholeNumber('wait-ms', options['wait-ms']);

if (globalThis.gc === undefined) process.exitCode = runAgainWithFlags();
else await churn();

/**
 * Memory figures are meaningful only after a collection, which needs a flag, and only if V8 does not keep enlarging its young generation,
 * which needs another: by default it grows by 30 MB in the first thousands of processes, no matter what starts them.
 */
function runAgainWithFlags() {
  const flags = ['--expose-gc', '--max-semi-space-size=1'];
  const args = [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
}

async function churn() {
  const client = connectInProcess({ backend: 'linux', limits: waitMs < defaultWaitMs ? { keepClosedMs: waitMs / 2 } : {} });
  try {
    // What all processes share, such as the watchdog that ends them with this program, exists after the first of each kind.
    await runProcesses(client, 2);
    console.log(tableHead('moment', 'descriptors', 'threads', 'zombies', 'timers', 'RSS MB'));
    const before = await look('before');
    const first = Math.ceil(count / 10);
    await runProcesses(client, first);
    const early = await look(`after ${first}`);
    await runProcesses(client, count - first);
    const late = await look(`after ${count}`);
    await sleep(waitMs);
    const last = await look(`${waitMs / 1000} s later`);
    report([...[early, late, last].flatMap((moment) => excessOf(moment, before)), ...growthOf(last, early)]);
  } finally {
    await client.close();
  }
}

/**
 * Half on pipes, half on terminals. Resolves when all have closed.
 * @param {Client} client
 * @param {number} number
 */
async function runProcesses(client, number) {
  await inParallel({ count: number, width }, async (index) => {
    const child = await client.start({ argv: ['echo', 'done'], env, io: index % 2 === 0 ? ios.pipe : ios.pty });
    const chunks = await chunksOf(child);
    const ending = await child.closed;
    const text = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
    if (ending.kind !== 'code' || ending.code !== 0 || text.trim() !== 'done') {
      throw new Error(`process ${index} wrote "${text}" and ended with ${JSON.stringify(ending)}`);
    }
  });
}

/** @typedef {Awaited<ReturnType<typeof look>>} Look */

/**
 * Counts everything, and prints it as a row.
 * @param {string} moment
 */
async function look(moment) {
  // The first collection empties pages, and the second returns them a moment later.
  for (let round = 0; round < 2; round += 1) {
    globalThis.gc?.();
    await sleep(collectMs);
  }
  const counts = {
    descriptors: descriptorCount(process.pid),
    threads: threadCount(process.pid),
    zombies: childrenOf(process.pid).filter(({ isZombie }) => isZombie).length,
    timers: process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length,
  };
  const rssBytes = process.memoryUsage.rss();
  console.log(tableRow(moment, ...Object.values(counts), megabytes(rssBytes)));
  return { moment, counts, rssBytes };
}

/**
 * Describes each count that is higher than before.
 * @param {Look} late
 * @param {Look} before
 */
function excessOf({ moment, counts }, before) {
  return Object.entries(counts)
    .map(([name, now], index) => ({ name, now, first: Object.values(before.counts)[index] }))
    .filter(({ now, first }) => now > first)
    .map(({ name, now, first }) => `${moment}: ${now} ${name}, ${first} before`);
}

/**
 * Checks only the last moment: until they are forgotten, ended processes take memory so that they can be read.
 * @param {Look} last
 * @param {Look} early
 */
function growthOf(last, early) {
  const growthBytes = last.rssBytes - early.rssBytes;
  return growthBytes <= growthLimitBytes ? [] : [`${last.moment}: ${megabytes(growthBytes)} MB more than ${early.moment}`];
}

/** @param {string[]} problems */
function report(problems) {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log('\nNothing was left behind.');
}
