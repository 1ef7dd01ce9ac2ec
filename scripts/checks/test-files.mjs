// Finds the compiled test files and runs them, two at a time, telling how far it has come. Knows no other step.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../tool.mjs';

/** @import { TestCounts } from './test-reporter.mjs' */

/** Longest a test file may take, in milliseconds. Far above the slowest one: a hanging test must not hang a build machine. */
const fileTimeoutMs = 600_000;

/** How much longer a file gets before it is killed, in milliseconds: Node itself may hang, for want of threads for example. */
const fileGraceMs = 30_000;

/** Longest silence, in milliseconds, before a line says which files are still running. */
const silenceMs = 20_000;

const reporter = fileURLToPath(new URL('test-reporter.mjs', import.meta.url));

/**
 * The folders and files that `--quick` runs: those whose tests need no built program, no crowd of processes and no real waiting, so that all of
 * them together, with the build, take less than a minute on two cores. A new test in one of these folders is part of it.
 */
const quick = ['architecture', 'base/', 'client/', 'protocol/', 'rpc/', 'transport/', 'server/'];

/**
 * Listed from the sources, because a compiled test outlives its source.
 * @param {{ words: readonly string[], isQuick: boolean }} choice files with one of the words in their path; all when there is none
 */
export function testFiles({ words, isQuick }) {
  return readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => !isQuick || quick.some((start) => file.startsWith(start)))
    .map((file) => file.replace(/\.ts$/, '.js'))
    .toSorted();
}

/**
 * Two files at a time, since most of a test is waiting; each in a process and with a folder for temporary files of its own, because
 * each guards against leaks and must see only what it left itself.
 * @param {readonly string[]} files as `testFiles` gives them
 * @param {{ env?: NodeJS.ProcessEnv, onFileEnd?: () => void }} [options] `env` is added to ours
 * @returns whether all have passed
 */
export async function testsPass(files, { env = {}, onFileEnd = () => {} } = {}) {
  const progress = new Progress(files.length);
  const rest = [...files];
  const lane = async () => {
    for (let file = rest.shift(); file !== undefined; file = rest.shift()) {
      progress.begin(file);
      progress.end(file, await runFile(file, env));
      onFileEnd();
    }
  };
  await Promise.all([lane(), lane()]);
  return progress.summarize();
}

/** @typedef {{ passed: boolean, report: string, counts: TestCounts }} FileResult */

/** Prints a line for each file that is over, the report of each that failed, and in the end the sum. */
class Progress {
  #total;
  /** @type {Map<string, number>} when each file that is running began */
  #running = new Map();
  /** @type {(FileResult & { file: string })[]} */
  #results = [];
  #heartbeat = setInterval(() => this.#tellRunning(), silenceMs);

  /** @param {number} total */
  constructor(total) {
    this.#total = total;
  }

  /** @param {string} file */
  begin(file) {
    this.#running.set(file, performance.now());
  }

  /**
   * @param {string} file
   * @param {FileResult} result
   */
  end(file, result) {
    const seconds = this.#secondsOf(file);
    this.#running.delete(file);
    this.#results.push({ file, ...result });
    const { ran, skipped } = result.counts;
    const tests = `${counted(ran, 'test')}${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`;
    console.log(`${result.passed ? '✓' : '✗'} ${this.#results.length} of ${this.#total}  ${file}: ${tests}, ${seconds} s`);
    if (!result.passed) console.log(`${result.report.trimEnd()}\n`);
    this.#heartbeat.refresh();
  }

  summarize() {
    clearInterval(this.#heartbeat);
    const failed = this.#results.filter(({ passed }) => !passed).map(({ file }) => `  ${file}\n`);
    const skipped = this.#results.flatMap(({ file, counts }) =>
      counts.skipped.map(({ name, reason }) => `  ${file}: ${name}: ${reason}\n`),
    );
    const ran = this.#results.reduce((sum, { counts }) => sum + counts.ran, 0);
    if (skipped.length > 0) console.log(`\nskipped, and why:\n${skipped.join('').trimEnd()}`);
    console.log(`\n${counted(ran, 'test')} in ${counted(this.#total, 'file')}, ${skipped.length} skipped`);
    if (failed.length > 0) console.error(`failed:\n${failed.join('').trimEnd()}`);
    return failed.length === 0;
  }

  #tellRunning() {
    const files = [...this.#running.keys()].map((file) => `${file} for ${this.#secondsOf(file)} s`);
    console.log(`  ${this.#results.length} of ${this.#total} are over; running: ${files.join(', ')}`);
  }

  /** @param {string} file */
  #secondsOf(file) {
    return ((performance.now() - (this.#running.get(file) ?? 0)) / 1000).toFixed(1);
  }
}

/**
 * @param {string} file
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<FileResult>}
 */
async function runFile(file, env) {
  const folder = mkdtempSync(path.join(tmpdir(), 'test-'));
  const countsFile = path.join(tmpdir(), `${path.basename(folder)}.json`); // outside, since the folder must be empty in the end
  const reporters = ['spec', 'stdout', reporter, countsFile].map(
    (value, index) => `--test-reporter${index % 2 === 0 ? '' : '-destination'}=${value}`,
  );
  const flags = ['--enable-source-maps', '--test', `--test-timeout=${fileTimeoutMs}`, ...reporters];
  const child = spawn(process.execPath, [...flags, path.join('dist-test', file)], {
    cwd: root,
    env: { ...process.env, ...env, TMPDIR: folder },
  });
  /** @type {Buffer[]} */
  const report = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => report.push(piece));
  const overdue = setTimeout(() => {
    report.push(Buffer.from('killed: it did not end in time\n'));
    child.kill('SIGKILL');
  }, fileTimeoutMs + fileGraceMs);
  const [code] = await once(child, 'close');
  clearTimeout(overdue);
  const counts = countsIn(countsFile);
  for (const left of [folder, countsFile]) rmSync(left, { recursive: true, force: true });
  return { passed: code === 0, report: Buffer.concat(report).toString(), counts };
}

/**
 * Nothing when the runner was killed before it could write.
 * @param {string} file
 * @returns {TestCounts}
 */
function countsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { ran: 0, skipped: [] };
  }
}

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
