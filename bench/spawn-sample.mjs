// One measurement for spawn.mjs, in a separate program: allocates the requested memory, then starts processes and reports to its parent
// how long each start took, in milliseconds.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connectInProcess } from '../dist/index.js';
import { chunksOf, env, ios } from '../scripts/measure.mjs';

/** @import { BackendName } from '../dist/server/index.js' */

/** @typedef {'pipe' | 'pty' | 'bare'} Way */
/** @typedef {{ name: string, kind: 'ballast' | 'retained', bytes: number }} Memory */
/** @typedef {{ backend: BackendName, memory: Memory, count: number }} Order */
/** @typedef {{ rssBytes: number, heldCount: number, samples: Record<Way, number[]> }} Sample */

/** The maximum size of an output chunk: a server's memory consists of pieces like this. */
const pieceBytes = 64 * 1024;

/** What each ended process retains in the sample with retained output. */
const retainedBytes = 16 * 1024 * 1024;

/** Starts of each kind before the measured ones: the first sets up what all share, the others get the code compiled. */
const warmUps = 25;

/** Retained output is not forgotten before the measurement has ended. */
const limits = {
  retainedBytes: 2 * retainedBytes,
  maxClosedBytes: Infinity,
  keepClosedMs: 600_000,
};

/** @type {Order} */
const { backend, memory, count } = JSON.parse(process.argv[2]);
const client = connectInProcess({ backend, limits });
try {
  const ways = { pipe: () => startThroughClient(ios.pipe), pty: () => startThroughClient(ios.pty), bare: startBare };
  for (const start of Object.values(ways)) await timesOf(start, warmUps);
  const held = memory.kind === 'retained' ? await retainOutput(memory.bytes) : ballastUpTo(memory.bytes);
  // One way after the other: anything that follows a fork of a large program is slower because of it.
  const samples = {
    pipe: await timesOf(ways.pipe, count),
    pty: await timesOf(ways.pty, count),
    bare: await timesOf(ways.bare, count),
  };
  process.send?.({ rssBytes: process.memoryUsage.rss(), heldCount: held.length, samples });
} finally {
  await client.close();
  process.disconnect();
}

/**
 * @param {() => Promise<number>} start
 * @param {number} number
 */
async function timesOf(start, number) {
  /** @type {number[]} */
  const times = [];
  while (times.length < number) times.push(await start());
  return times;
}

/** @param {(typeof ios)[keyof typeof ios]} io */
async function startThroughClient(io) {
  const startedAt = performance.now();
  const child = await client.start({ argv: ['true'], env, io });
  const tookMs = performance.now() - startedAt;
  await chunksOf(child);
  return tookMs;
}

/** Plain child_process: no log, no tree, no watchdog. It returns when the program runs, as `start` does. */
async function startBare() {
  const startedAt = performance.now();
  const child = spawn('true', { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const tookMs = performance.now() - startedAt;
  child.stdout.resume();
  child.stderr.resume();
  await once(child, 'close');
  return tookMs;
}

/**
 * Allocates and touches memory until this program has `bytes` in total.
 * @param {number} bytes
 */
function ballastUpTo(bytes) {
  const missing = Math.max(0, bytes - process.memoryUsage.rss());
  return Array.from({ length: Math.ceil(missing / pieceBytes) }, () => Buffer.alloc(pieceBytes, 0xa5));
}

/**
 * Runs processes that together retain `bytes` of output. The client holds the memory, not the returned handles.
 * @param {number} bytes
 */
async function retainOutput(bytes) {
  const handles = [];
  while (handles.length * retainedBytes < bytes) {
    const child = await client.start({ argv: ['head', '-c', `${retainedBytes}`, '/dev/zero'], env, io: ios.pipe });
    await chunksOf(child);
    handles.push(child);
  }
  return handles;
}
