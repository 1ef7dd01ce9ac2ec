// Whole trees and long files through our own client, beside tar and cat through a pipe; and what the server does meanwhile: its memory and
// its answers to others.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect } from '../../dist/index.js';
import { inParallel, median, quantile } from '../../scripts/measure.mjs';
import { ownSession, searchPath } from '../environment.mjs';
import { defineLine } from '../line.mjs';
import { fileOf, readBlocks } from './file-calls.mjs';
import { megabyte } from './flood.mjs';

/** @import { Client } from '../../dist/index.js' */
/** @import { Content } from '../content.mjs' */
/** @import { Transport } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Server } from '../server.mjs' */
/** @import { Stage } from '../stage.mjs' */

const kibibyte = 1024;
const mebibyte = 1024 ** 2;
const filesPerFolder = 100;

/** Bytes that a source of content yields at once. */
const sourceBytes = 64 * kibibyte;

/** Files that are transferred before those that count, to warm up the compilers. */
const warmupFiles = 1_000;

/** @type {{ only: 'sluice', transports: Transport[] }} */
const sluiceOnly = { only: 'sluice', transports: ['ws'] };
const half = /** @type {const} */ ({ against: 'floor', better: 'higher', atLeast: { ws: 0.5 } });
const throughput = /** @type {const} */ ({ against: 'floor', unit: 'MB/s', better: 'higher' });
const growth = /** @type {const} */ ({ unit: 'MB', better: 'lower' });
const ms = /** @type {const} */ ({ unit: 'ms', better: 'lower' });

export const fileTransferLines = [
  defineLine({
    ...sluiceOnly,
    name: 'files: tree of 10 000 files of 1 KiB',
    sizes: { full: { files: 10_000 }, quick: { files: 300 } },
    metrics: {
      upload: { ...half, unit: 'files/s', name: 'upload' },
      download: { ...half, unit: 'files/s', name: 'download' },
    },
    measure: ({ server, stage, size }) =>
      withClient(server, async (client) => {
        const warmup = treeOf(stage, Math.min(size.files, warmupFiles));
        await upload(client, warmup, stage);
        await download(client, warmup, stage);
        const tree = treeOf(stage, size.files);
        return {
          upload: size.files / (await upload(client, tree, stage)),
          download: size.files / (await download(client, tree, stage)),
        };
      }),
    floor: {
      name: 'tar -c through a pipe into tar -x',
      async measure({ stage, size }) {
        const tree = treeOf(stage, size.files);
        const copy = () => seconds(tree, stage, (to) => shell('tar -C "$1" -c . | tar -C "$2" -x', [tree.folder, to]));
        return { upload: size.files / (await copy()), download: size.files / (await copy()) };
      },
    },
  }),
  defineLine({
    ...sluiceOnly,
    name: 'files: 256 MiB, one file',
    sizes: { full: { mebibytes: 256 }, quick: { mebibytes: 8 } },
    metrics: {
      read: { ...throughput, name: 'client.files.readStream' },
      write: { ...throughput, name: 'client.files.write' },
    },
    measure: ({ server, stage, size }) =>
      withClient(server, async (client) => {
        const bytes = size.mebibytes * mebibyte;
        const source = fileOf(stage, bytes);
        const target = path.join(stage.inMemory, 'target');
        await readAll(client, source); // warms up the compilers
        const reading = await timed(() => readAll(client, source));
        await writeAll(client, target, { content: stage.content, bytes: Math.min(bytes, 32 * mebibyte) });
        const writing = await timed(() => writeAll(client, target, { content: stage.content, bytes }));
        return { read: bytes / megabyte / reading, write: bytes / megabyte / writing };
      }),
    floor: {
      name: 'cat through a pipe into cat',
      async measure({ stage, size }) {
        const bytes = size.mebibytes * mebibyte;
        const { file } = fileOf(stage, bytes);
        const target = path.join(stage.inMemory, 'target');
        const reading = await timed(() => shell('cat "$1" | cat > /dev/null', [file]));
        const writing = await timed(() => shell('cat "$1" | cat > "$2"', [file, target]));
        return { read: bytes / megabyte / reading, write: bytes / megabyte / writing };
      },
    },
  }),
  defineLine({
    ...sluiceOnly,
    name: 'files: growth of server memory',
    sizes: { full: { mebibytes: 1024, whole: 64 }, quick: { mebibytes: 16, whole: 4 } },
    metrics: {
      read: { ...growth, name: 'peak beyond the start, 1 GiB by client.files.readStream' },
      write: { ...growth, name: 'the same, then 1 GiB by client.files.write' },
      blocks: { ...growth, name: 'the same, then 1 GiB in blocks, 4 in flight' },
      whole: { ...growth, name: 'the same, then 16 × 64 MiB by fs/readFile, 4 in flight' },
    },
    measure: ({ peer, server, stage, size }) =>
      withClient(server, async (client) => {
        const [small, whole] = [fileOf(stage, mebibyte), fileOf(stage, size.whole * mebibyte)];
        await readAll(client, small);
        await writeAll(client, small.file, { content: stage.content, bytes: mebibyte });
        const before = server.memory().now;
        const beyond = () => (server.memory().peak - before) / megabyte;
        const bytes = size.mebibytes * mebibyte;
        const long = fileOf(stage, bytes);
        await readAll(client, long);
        const read = beyond();
        await writeAll(client, long.file, { content: stage.content, bytes });
        const write = beyond();
        await peer.request('fs/open', { handleId: 'h', path: long.url });
        await readBlocks(peer, { content: stage.content, bytes, width: 4 });
        const blocks = beyond();
        await inParallel({ count: 16, width: 4 }, () => peer.readContent('fs/readFile', { path: whole.url }, whole));
        rmSync(long.file);
        return { read, write, blocks, whole: beyond() };
      }),
  }),
  defineLine({
    ...sluiceOnly,
    name: 'files: environment/status meanwhile',
    reads: 'nudge',
    sizes: { full: { mebibytes: 64, passes: 8, files: 10_000 }, quick: { mebibytes: 4, passes: 1, files: 300 } },
    metrics: {
      blocksP50: { ...ms, name: 'p50, 64 MiB read in blocks, 4 in flight' },
      blocksP99: { ...ms, name: 'p99, 64 MiB read in blocks, 4 in flight' },
      treeP50: { ...ms, name: 'p50, tree of 10 000 files uploaded' },
      treeP99: { ...ms, name: 'p99, tree of 10 000 files uploaded' },
    },
    measure: ({ peer, server, stage, size }) =>
      withClient(server, async (client) => {
        const other = await server.connect();
        const bytes = size.mebibytes * mebibyte;
        await other.request('fs/open', { handleId: 'h', path: fileOf(stage, bytes).url });
        const readPass = () => readBlocks(other, { content: stage.content, bytes, width: 4 });
        await readPass(); // warms up the compilers
        const blocks = await statusTimes(peer, inParallel({ count: size.passes, width: 1 }, readPass));
        const tree = treeOf(stage, size.files);
        await upload(client, treeOf(stage, Math.min(size.files, warmupFiles)), stage);
        const uploading = await statusTimes(peer, upload(client, tree, stage));
        return {
          blocksP50: median(blocks),
          blocksP99: quantile(blocks, 0.99),
          treeP50: median(uploading),
          treeP99: quantile(uploading, 0.99),
        };
      }),
  }),
];

/**
 * @template T
 * @param {Server} server
 * @param {(client: Client) => Promise<T>} act
 */
async function withClient(server, act) {
  const client = await connect(server.url);
  try {
    return await act(client);
  } finally {
    await client.close();
  }
}

/** @typedef {{ folder: string, files: number }} Tree */

/**
 * Files of 1 KiB in folders of a hundred; made once.
 * @param {Stage} stage
 * @param {number} files
 * @returns {Tree}
 */
function treeOf({ inMemory, content }, files) {
  const folder = path.join(inMemory, `tree-${files}`);
  for (let index = 0; index < files; index += 1) {
    const parent = path.join(folder, `folder-${Math.floor(index / filesPerFolder)}`);
    if (index === 0 && readdirSync(inMemory).includes(path.basename(folder))) break;
    mkdirSync(parent, { recursive: true });
    writeFileSync(path.join(parent, `file-${index}`), content.bytesAt(index, kibibyte));
  }
  return { folder, files };
}

/**
 * @param {Client} client
 * @param {Tree} tree
 * @param {Stage} stage
 */
function upload(client, tree, stage) {
  return seconds(tree, stage, (to) => client.files.upload(tree.folder, to));
}

/**
 * @param {Client} client
 * @param {Tree} tree
 * @param {Stage} stage
 */
function download(client, tree, stage) {
  return seconds(tree, stage, (to) => client.files.download(tree.folder, to));
}

/**
 * Copies a tree into a new folder, and checks that all files are there.
 * @param {Tree} tree
 * @param {Stage} stage
 * @param {(to: string) => Promise<unknown>} copy
 */
async function seconds({ files }, { inMemory }, copy) {
  const to = path.join(inMemory, 'copy');
  mkdirSync(to);
  try {
    const time = await timed(() => copy(to));
    const last = path.join(to, `folder-${Math.floor((files - 1) / filesPerFolder)}`, `file-${files - 1}`);
    const count = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
    if (count !== files || statSync(last).size !== kibibyte) throw new Error(`${count} of ${files} files were copied`);
    return time;
  } finally {
    rmSync(to, { recursive: true });
  }
}

/**
 * @param {Client} client
 * @param {{ file: string, content: Content }} source
 */
async function readAll(client, { file, content }) {
  let offset = 0;
  for await (const chunk of await client.files.readStream(file)) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    if (!content.matches(offset, { bytes, start: 0, end: bytes.length })) throw new Error(`wrong bytes after ${offset}`);
    offset += chunk.length;
  }
}

/**
 * @param {Client} client
 * @param {string} file
 * @param {{ content: Content, bytes: number }} source
 */
async function writeAll(client, file, { content, bytes }) {
  const chunks = async function* () {
    for (let at = 0; at < bytes; at += sourceBytes) yield content.slice(at, sourceBytes);
  };
  await client.files.write(file, chunks());
  if (statSync(file).size !== bytes) throw new Error(`${file} has ${statSync(file).size} bytes instead of ${bytes}`);
}

/**
 * Milliseconds of each call, one after the other, while something else goes on.
 * @param {Peer} peer
 * @param {Promise<unknown>} work
 */
async function statusTimes(peer, work) {
  /** @type {number[]} */
  const times = [];
  const state = { isDone: false };
  const done = work.finally(() => (state.isDone = true));
  while (!state.isDone) {
    const startedAt = performance.now();
    await peer.request('environment/status', {});
    times.push(performance.now() - startedAt);
  }
  await done;
  return times;
}

/**
 * Seconds.
 * @param {() => Promise<unknown>} act
 */
async function timed(act) {
  const startedAt = performance.now();
  await act();
  return (performance.now() - startedAt) / 1000;
}

/**
 * @param {string} script
 * @param {string[]} args
 */
async function shell(script, args) {
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...args], { env: { PATH: searchPath }, stdio: 'ignore', ...ownSession });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`"${script}" ended with code ${code}`);
}
