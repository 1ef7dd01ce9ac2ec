// Codex's calls about files, on files in memory: small ones, whole large ones, and blocks.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { inParallel, median, quantile } from '../../scripts/measure.mjs';
import { defineLine } from '../line.mjs';
import { megabyte } from './flood.mjs';

/** @import { Values } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Stage } from '../stage.mjs' */

const kibibyte = 1024;
const mebibyte = 1024 ** 2;

/** Codex's limit, and what its client asks for. */
const blockBytes = mebibyte;

const rate = /** @type {const} */ ({ unit: '/s', better: 'higher' });
const throughput = /** @type {const} */ ({ unit: 'MB/s', better: 'higher' });
const us = /** @type {const} */ ({ unit: 'µs', better: 'lower' });
const same = { ws: 1, stdio: 1 };
const twice = { ws: 2, stdio: 2 };

export const fileCallLines = [
  defineLine({
    name: 'files: fs/readFile of 1 KiB',
    reads: 'nudge',
    sizes: { full: { count: 4_000, warmup: 3_000 }, quick: { count: 100, warmup: 10 } },
    metrics: {
      one: { ...rate, name: '1 in flight', atLeast: same },
      many: { ...rate, name: '16 in flight', atLeast: same },
    },
    async measure({ peer, stage, size }) {
      const file = fileOf(stage, kibibyte);
      const read = async () => requireCount(await peer.readContent('fs/readFile', { path: file.url }, file), kibibyte);
      await inParallel({ count: size.warmup, width: 16 }, read);
      return {
        one: await rateOf({ count: size.count, width: 1 }, read),
        many: await rateOf({ count: size.count, width: 16 }, read),
      };
    },
  }),
  defineLine({
    name: 'files: fs/getMetadata',
    reads: 'nudge',
    sizes: { full: { count: 4_000, warmup: 3_000 }, quick: { count: 100, warmup: 10 } },
    metrics: {
      p50: { ...us, name: 'p50, one at a time' },
      p99: { ...us, name: 'p99, one at a time' },
    },
    async measure({ peer, stage, size }) {
      const { url } = fileOf(stage, kibibyte);
      const ask = () => peer.request('fs/getMetadata', { path: url });
      await inParallel({ count: size.warmup, width: 16 }, ask);
      const times = await timesOf(size.count, ask);
      return { p50: median(times) * 1000, p99: quantile(times, 0.99) * 1000 };
    },
  }),
  defineLine({
    name: 'files: fs/writeFile',
    reads: 'nudge',
    sizes: { full: { small: 4_000, large: 150, warmup: 2_000 }, quick: { small: 50, large: 2, warmup: 10 } },
    metrics: {
      small: { ...rate, name: '1 KiB, one at a time' },
      large: { ...throughput, name: '1 MiB, one at a time' },
    },
    async measure({ peer, stage, size }) {
      const url = pathToFileURL(path.join(stage.inMemory, 'written')).href;
      const [small, large] = [writeOf(stage, url, kibibyte), writeOf(stage, url, mebibyte)];
      const write = (/** @type {string} */ body) => () => peer.requestText('fs/writeFile', body);
      await inParallel({ count: size.warmup, width: 1 }, write(small));
      await inParallel({ count: Math.min(size.warmup, 20), width: 1 }, write(large));
      const perSecond = await rateOf({ count: size.large, width: 1 }, write(large));
      return { small: await rateOf({ count: size.small, width: 1 }, write(small)), large: (perSecond * mebibyte) / megabyte };
    },
  }),
  defineLine({
    name: 'files: 64 MiB read',
    sizes: { full: { mebibytes: 64, passes: 6 }, quick: { mebibytes: 4, passes: 1 } },
    metrics: {
      one: { ...throughput, name: 'blocks of 1 MiB, 1 in flight', atLeast: twice },
      four: { ...throughput, name: 'blocks of 1 MiB, 4 in flight', atLeast: twice },
      whole: { ...throughput, name: 'whole, by fs/readFile', atLeast: twice },
    },
    async measure({ peer, stage, size }) {
      const bytes = size.mebibytes * mebibyte;
      const file = fileOf(stage, bytes);
      const { content, url } = file;
      await peer.request('fs/open', { handleId: 'h', path: url });
      /** @type {Record<string, () => Promise<unknown>>} */
      const passes = {
        one: () => readBlocks(peer, { content, bytes, width: 1 }),
        four: () => readBlocks(peer, { content, bytes, width: 4 }),
        whole: async () => requireCount(await peer.readContent('fs/readFile', { path: url }, file), bytes),
      };
      /** @type {Values} */
      const values = {};
      for (const [key, pass] of Object.entries(passes)) {
        await pass(); // warms up the compilers, and lets the client's buffer grow
        values[key] = ((await rateOf({ count: size.passes, width: 1 }, pass)) * bytes) / megabyte;
      }
      return values;
    },
  }),
];

/**
 * A file in memory with the first bytes of the content.
 * @param {Stage} stage
 * @param {number} bytes
 */
export function fileOf({ content, inMemory }, bytes) {
  const file = path.join(inMemory, `content-${bytes}`);
  writeFileSync(file, content.bytesAt(0, bytes));
  return { content, offset: 0, file, url: pathToFileURL(file).href };
}

/**
 * @param {Peer} peer with the open handle `h`
 * @param {{ content: Stage['content'], bytes: number, width: number }} file
 */
export async function readBlocks(peer, { content, bytes, width }) {
  await inParallel({ count: bytes / blockBytes, width }, async (index) => {
    const offset = index * blockBytes;
    const params = { handleId: 'h', offset, len: blockBytes };
    requireCount(await peer.readContent('fs/readBlock', params, { content, offset }), blockBytes);
  });
}

/**
 * @param {Stage} stage
 * @param {string} url
 * @param {number} bytes
 */
function writeOf({ content }, url, bytes) {
  return JSON.stringify({ path: url, dataBase64: content.bytesAt(0, bytes).toString('base64') });
}

/**
 * Calls per second.
 * @param {{ count: number, width: number }} extent
 * @param {() => Promise<unknown>} call
 */
async function rateOf(extent, call) {
  const startedAt = performance.now();
  await inParallel(extent, call);
  return extent.count / ((performance.now() - startedAt) / 1000);
}

/**
 * Milliseconds of each call, one after the other.
 * @param {number} count
 * @param {() => Promise<unknown>} call
 */
async function timesOf(count, call) {
  /** @type {number[]} */
  const times = [];
  while (times.length < count) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return times;
}

/**
 * @param {number} count
 * @param {number} expected
 */
function requireCount(count, expected) {
  if (count !== expected) throw new Error(`expected ${expected} bytes, got ${count}`);
}
