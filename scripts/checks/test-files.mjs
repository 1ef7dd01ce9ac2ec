// Finds the compiled test files and runs them, two at a time, with progress output. Knows nothing about the other steps.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../tool.mjs';

/** @import { TestCounts } from './test-reporter.mjs' */

/** Timeout for a test file, in milliseconds. Far above the slowest one: a hanging test must not hang a build machine. */
const fileTimeoutMs = 600_000;

/** Additional time before a file is killed, in milliseconds: Node itself may hang, for example for lack of threads. */
const fileGraceMs = 30_000;

/** Silence, in milliseconds, after which a line lists the files that are still running. */
const silenceMs = 20_000;

const reporter = fileURLToPath(new URL('test-reporter.mjs', import.meta.url));

/**
 * The folders and files that `--quick` runs: those whose tests need no built program, no large number of processes and no real waiting,
 * so that all of them together, with the build, take less than a minute on two cores. A new test in one of these folders is included.
 */
const quick = ['architecture', 'base/', 'client/', 'protocol/', 'rpc/', 'transport/', 'server/'];

/**
 * Listed from the sources, because the compiled file of a deleted test may still exist.
 * @param {{ words: readonly string[], isQuick: boolean }} choice files with one of the words in their path; all files if there are no words
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
 * Runs two files at a time, since tests mostly wait. Each has its own process and its own folder for temporary files, because each checks
 * for leaks and must see only its own.
 * @param {readonly string[]} files as returned by `testFiles`
 * @param {{ env?: NodeJS.ProcessEnv, onFileEnd?: () => void }} [options] `env` is added to ours
 * @returns whether all passed
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

/** Prints a line for each finished file, the report of each failed one, and a summary at the end. */
class Progress {
  #total;
  /** @type {Map<string, number>} the start time of each running file */
  #running = new Map();
  /** @type {(FileResult & { file: string })[]} */
  #results = [];
  #heartbeat = setInterval(() => this.#printRunning(), silenceMs);

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
    if (skipped.length > 0) console.log(`\nskipped, with the reason:\n${skipped.join('').trimEnd()}`);
    console.log(`\n${counted(ran, 'test')} in ${counted(this.#total, 'file')}, ${skipped.length} skipped`);
    if (failed.length > 0) console.error(`failed:\n${failed.join('').trimEnd()}`);
    return failed.length === 0;
  }

  #printRunning() {
    const files = [...this.#running.keys()].map((file) => `${file} for ${this.#secondsOf(file)} s`);
    console.log(`  ${this.#results.length} of ${this.#total} are done; running: ${files.join(', ')}`);
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
  const countsFile = path.join(tmpdir(), `${path.basename(folder)}.json`); // outside the folder, which must be empty at the end
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
 * Zero counts if the runner was killed before it wrote them.
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
