// Samples a server's resource usage from outside at regular intervals, and checks that it does not grow.

import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, descriptorCount, memoryOf } from '../../../dist-test/support/proc.js';
import { median, megabytes, tableHead, tableRow } from '../../measure.mjs';

const mega = 1_000_000;

/** Allowed memory growth in addition to a quarter: garbage and, in a short run, also a heap that has not reached its full size. */
const growthBytes = { long: 30 * mega, short: 120 * mega };

/** Number of samples, one per second, from which on a run counts as long. */
const longRun = 300;

/** @typedef {{ pid: number, url: string }} Watched */
/** @typedef {Awaited<ReturnType<typeof look>>} Look */

/**
 * One sample. `children` are the processes that the server has started and not yet reaped.
 * @param {Watched} server
 */
export async function look({ pid, url }) {
  const metrics = await (await fetch(`${url.replace('ws:', 'http:')}/metrics`)).text();
  /** @param {string} name */
  const sum = (name) =>
    Array.from(metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)`, 'gm')), ([, value]) => Number(value));
  /** @param {string} name */
  const total = (name) => sum(name).reduce((one, other) => one + other, 0);
  return {
    rssBytes: memoryOf(pid).now,
    descriptors: descriptorCount(pid),
    sessions: total('sluice_sessions'),
    processes: total('sluice_processes'),
    connections: total('sluice_connections'),
    children: childrenOf(pid).length,
  };
}

/**
 * Samples once a second until `stop` is called, which returns all samples.
 * @param {Watched} server
 */
export function watch(server) {
  /** @type {Look[]} */
  const looks = [];
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      looks.push(await look(server));
      await sleep(1_000);
    }
  })();
  return {
    async stop() {
      over.abort();
      await watching;
      return looks;
    },
  };
}

/**
 * Prints the medians of the four quarters, and describes what has grown from the second to the last.
 * @param {Look[]} looks
 */
export function judge(looks) {
  if (looks.length < 4) return ['the run was too short to detect growth'];
  const quarter = Math.max(1, Math.floor(looks.length / 4));
  const quarters = [0, 1, 2, 3].map((index) =>
    mediansOf(looks.slice(index * quarter, index === 3 ? undefined : (index + 1) * quarter)),
  );
  console.log(`\n${tableHead('medians', 'RSS MB', 'descriptors', 'sessions', 'processes known', 'children')}`);
  for (const [index, figures] of quarters.entries()) console.log(row(`quarter ${index + 1}`, figures));
  const [, second, , last] = quarters;
  const allowedBytes = looks.length < longRun ? growthBytes.short : growthBytes.long;
  const isMemoryFlat = last.rssBytes <= second.rssBytes * 1.25 + allowedBytes;
  // How much runs at any moment varies at random, but not by a factor of two.
  const grown = /** @type {const} */ (['descriptors', 'sessions', 'children']).filter(
    (name) => last[name] > second[name] * 2 + 20,
  );
  return [
    ...(isMemoryFlat ? [] : [`memory grew from ${megabytes(second.rssBytes)} to ${megabytes(last.rssBytes)} MB`]),
    ...grown.map((name) => `${name} grew from ${second[name]} to ${last[name]}`),
  ];
}

/**
 * @param {string} moment
 * @param {Look} look
 */
export function row(moment, { rssBytes, descriptors, sessions, processes, children }) {
  return tableRow(moment, megabytes(rssBytes), descriptors, sessions, processes, children);
}

/** @param {Look[]} looks */
function mediansOf(looks) {
  /** @param {keyof Look} name */
  const of = (name) => median(looks.map((each) => each[name]));
  const [rssBytes, descriptors, sessions, processes] = [of('rssBytes'), of('descriptors'), of('sessions'), of('processes')];
  return { rssBytes, descriptors, sessions, processes, connections: of('connections'), children: of('children') };
}
