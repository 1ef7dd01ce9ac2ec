// Shows that output arrives whole. Starts programs that print a known number of bytes and exit at once, reads them early,
// late and slowly, and compares every byte. Fails if a single run was incomplete.
//
//   npm run completeness -- [--runs 500] [--backend linux|portable|all] [--under-load]

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectInProcess } from '../../dist/index.js';
import { backendsOf, chunksOf, env, inParallel, ios, tableHead, tableRow, wholeNumber } from '../measure.mjs';

/** @import { Client, OutputChunk, ProcessHandle } from '../../dist/index.js' */
/** @import { BackendName } from '../../dist/server/index.js' */

/** @type {Record<string, number>} */
const sizes = { '1 B': 1, '20 KiB': 20 * 1024, '200 KB': 200_000, '5 MB': 5_000_000 };

/** From this size on, a run takes a tenth of a second, so there are fewer at a time, and fewer with slow readers. */
const largeBytes = 1_000_000;

/** A program that prints more than this is held back until its output is read. */
const readerWindowBytes = 256 * 1024;

/** No run takes this long unless it hangs. */
const runLimitMs = 60_000;

/** Time between two checks whether a process is blocked, and how many consecutive checks must show no progress. */
const lookMs = 5;
const looks = 5;

/** How long a slow reader rests after each step, and the largest step: less than the window, so that it holds the process back. */
const restMs = 2;
const stepBytes = 64 * 1024;

/**
 * @typedef {{ backend: BackendName, io: keyof typeof ios, size: keyof typeof sizes, reader: keyof typeof readers, count: number }} Row
 * @typedef {{ client: Client, size: number }} Reading
 * @typedef {ProcessHandle} Handle
 */

const readers = { 'at once': chunksOf, late: readLate, 'in steps': readInSteps };

/** The printing program itself, which exits right after its last write, and a shell around it, to check another exit code. */
const programs = [
  (/** @type {number} */ size) => ({ argv: ['head', '-c', `${size}`, file], code: 0 }),
  (/** @type {number} */ size) => ({ argv: ['sh', '-c', 'head -c "$1" "$2"; exit 7', 'sh', `${size}`, file], code: 7 }),
];

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    backend: { type: 'string', default: 'all' },
    'under-load': { type: 'boolean', default: false },
  },
});
const runs = wholeNumber('runs', options.runs);
const backends = backendsOf(options.backend);

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-completeness-'));
const file = path.join(folder, 'pattern');
const pattern = patternOf(Math.max(...Object.values(sizes)));
writeFileSync(file, pattern);
const load = options['under-load'] ? startLoad() : [];
try {
  await measureAll();
} finally {
  for (const busy of load) busy.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}

async function measureAll() {
  const startedAt = performance.now();
  let total = 0;
  let complete = 0;
  console.log(tableHead('backend', 'io', 'size', 'reader', 'runs', 'complete'));
  for (const row of rows()) {
    const { backend, io, size, reader, count } = row;
    const completeHere = await measure(row);
    console.log(tableRow(backend, io, size, reader, count, completeHere));
    total += count;
    complete += completeHere;
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`\n${complete} of ${total} runs complete, in ${seconds} s${load.length > 0 ? ' under load' : ''}`);
  console.log(
    `late: after the exit, or, if more than ${readerWindowBytes / 1024} KiB of unread output prevent the exit, once it is blocked.`,
  );
  if (complete < total) process.exitCode = 1;
}

/**
 * @template {object} T
 * @param {T} table
 */
function keysOf(table) {
  return /** @type {(keyof T)[]} */ (Object.keys(table));
}

/** @returns {Row[]} */
function rows() {
  return backends.flatMap((backend) =>
    keysOf(ios).flatMap((io) =>
      Object.keys(sizes).flatMap((size) =>
        keysOf(readers).map((reader) => {
          const isSlow = sizes[size] >= largeBytes && reader !== 'at once';
          return { backend, io, size, reader, count: isSlow ? Math.ceil(runs / 5) : runs };
        }),
      ),
    ),
  );
}

/**
 * Returns how many of `count` runs were complete, and prints to stderr what was wrong with the others.
 * @param {Row} row
 */
async function measure({ backend, io, size, reader, count }) {
  const client = connectInProcess({ backend, limits: { readerWindowBytes } });
  let complete = 0;
  try {
    await inParallel({ count, width: sizes[size] >= largeBytes ? 2 : 8 }, async (index) => {
      const problem = await inTime(problemOfRun({ client, io, size: sizes[size], reader, index }));
      if (problem === undefined) complete += 1;
      else console.error(`${backend}, ${io}, ${size}, ${reader}, run ${index}: ${problem}`);
    });
  } finally {
    await client.close();
  }
  return complete;
}

/**
 * Runs one program and describes the problem, if there was one.
 * @param {Reading & Pick<Row, 'io' | 'reader'> & { index: number }} run
 */
async function problemOfRun({ client, io, size, reader, index }) {
  const { argv, code } = programs[index % programs.length](size);
  const child = await client.start({ argv, env, io: ios[io] });
  const [chunks, bytesAtExit, exit, closed] = await Promise.all([
    readers[reader](child, { client, size }),
    child.exit.then(() => outputBytes(client, child)),
    child.exit,
    child.closed,
  ]);
  const bytes = Buffer.concat(chunks.map((chunk) => chunk.bytes));
  if (bytes.length !== size) return `${bytes.length} of ${size} bytes arrived`;
  if (!bytes.equals(pattern.subarray(0, size))) return 'the received bytes differ from the printed ones';
  const stray = chunks.findIndex(({ seq }, at) => seq !== at + 1);
  if (stray >= 0) return `chunk ${stray + 1} has seq ${chunks[stray].seq}`;
  if (chunks.some(({ droppedBytes }) => droppedBytes > 0)) return 'a chunk reports missing output before it';
  if (bytesAtExit !== size) return `exit was reported after ${bytesAtExit} of ${size} bytes`;
  for (const ending of [exit, closed]) {
    if (ending.kind !== 'code' || ending.code !== code || !ending.outputComplete) return `ended with ${JSON.stringify(ending)}`;
  }
  return undefined;
}

/**
 * Reads nothing until the process has exited or, if unread output prevents that, until it is blocked.
 * @param {Handle} child
 * @param {Reading} reading
 */
async function readLate(child, { client, size }) {
  if (size <= readerWindowBytes) await child.exit;
  else await untilStill(client, child);
  return chunksOf(child);
}

/**
 * @param {Handle} child
 * @param {Reading} reading
 */
async function readInSteps(child, { size }) {
  const step = Math.min(stepBytes, size / 8);
  /** @type {OutputChunk[]} */
  const chunks = [];
  let stepped = 0;
  await sleep(restMs);
  for await (const chunk of child.output) {
    chunks.push(chunk);
    stepped += chunk.bytes.length;
    if (stepped < step) continue;
    stepped = 0;
    await sleep(restMs);
  }
  return chunks;
}

/**
 * @param {Client} client
 * @param {Handle} child
 */
async function untilStill(client, child) {
  let before = 0;
  for (let same = 0; same < looks; await sleep(lookMs)) {
    const now = await outputBytes(client, child);
    same = now >= readerWindowBytes && now === before ? same + 1 : 0;
    before = now;
  }
}

/**
 * @param {Client} client
 * @param {Handle} child
 */
async function outputBytes(client, child) {
  return (await client.list()).find(({ processId }) => processId === child.id)?.outputBytes ?? 0;
}

/**
 * A run that hangs or throws is reported as a problem of that run alone.
 * @param {Promise<string | undefined>} running
 */
async function inTime(running) {
  const over = new AbortController();
  const late = sleep(runLimitMs, `no end within ${runLimitMs / 1000} s`, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([running, late]);
  } catch (error) {
    return String(error);
  } finally {
    over.abort();
  }
}

/**
 * A sequence of eight-digit numbers that count up, so that a lost, duplicated or moved piece is detected. No line feeds, which a terminal
 * would change.
 * @param {number} length
 */
function patternOf(length) {
  const blocks = Array.from({ length: Math.ceil(length / 8) }, (_, block) => String(block).padStart(8, '0'));
  return Buffer.from(blocks.join('')).subarray(0, length);
}

/** One busy loop per core; each ends when this program no longer exists. */
function startLoad() {
  const loop = 'while kill -0 "$1"; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done';
  return Array.from({ length: availableParallelism() }, () =>
    spawn('nice', ['sh', '-c', loop, 'sh', `${process.pid}`], { stdio: 'ignore' }),
  );
}
