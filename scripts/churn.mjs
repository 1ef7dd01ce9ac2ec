// Shows that processes leave nothing behind: runs many short ones, half on pipes and half on terminals, waits until they are
// forgotten, and counts descriptors, threads, zombies, timers and memory. Fails when there is more of anything than before.
//
//   npm run churn -- [--count 2000] [--wait-ms 33000]

import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectInProcess } from '../dist/index.js';
import { chunksOf, env, inParallel, ios, tableHead, tableRow, wholeNumber } from './measure.mjs';

/** Processes at a time. */
const width = 8;

/** Just above the 30 s for which ended processes stay readable; a shorter wait shortens those too. */
const defaultWaitMs = 33_000;

/** What memory may grow by after the first tenth, when everything that is allocated once is there. */
const growthLimitBytes = 20_000_000;

const { values: options } = parseArgs({
  options: { count: { type: 'string', default: '2000' }, 'wait-ms': { type: 'string', default: `${defaultWaitMs}` } },
});
const count = wholeNumber('count', options.count);
const waitMs = wholeNumber('wait-ms', options['wait-ms']);

if (globalThis.gc === undefined) process.exitCode = runAgainWithGc();
else await churn();

/** Memory says something only after a collection, and only a flag makes that possible. */
function runAgainWithGc() {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
}

async function churn() {
  const client = connectInProcess({ backend: 'linux', limits: waitMs < defaultWaitMs ? { keepClosedMs: waitMs / 2 } : {} });
  try {
    // What all processes share, such as the guard that ends them with this program, is there after the first of each kind.
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
    report([early, late, last].flatMap((moment) => excess(moment, before, early)));
  } finally {
    await client.close();
  }
}

/** Half on pipes, half on terminals. Resolves when all have closed. */
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

/** Counts everything, and prints it as a row. */
async function look(moment) {
  await sleep(100); // lets what was just closed be freed
  globalThis.gc();
  const counts = {
    descriptors: readdirSync('/proc/self/fd').length,
    threads: Number(/^Threads:\s+(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]),
    zombies: zombieCount(),
    timers: process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length,
  };
  const rssBytes = process.memoryUsage.rss();
  console.log(tableRow(moment, ...Object.values(counts), (rssBytes / 1_000_000).toFixed(1)));
  return { moment, counts, rssBytes };
}

/** Children of this program that have ended and were not collected. */
function zombieCount() {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isOurZombie(pid)).length;
}

function isOurZombie(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before it may contain anything
    return state === 'Z' && Number(parent) === process.pid;
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
    return false; // gone since the folder was read
  }
}

/** In words, what a moment has more of than it may have. */
function excess({ moment, counts, rssBytes }, before, early) {
  const grown = Object.keys(counts).filter((name) => counts[name] > before.counts[name]);
  const complaints = grown.map((name) => `${moment}: ${counts[name]} ${name}, ${before.counts[name]} before`);
  const growthBytes = rssBytes - early.rssBytes;
  if (growthBytes <= growthLimitBytes) return complaints;
  return [...complaints, `${moment}: ${(growthBytes / 1_000_000).toFixed(1)} MB more than ${early.moment}`];
}

function report(complaints) {
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length > 0) process.exitCode = 1;
  else console.log('\nNothing is left behind.');
}
