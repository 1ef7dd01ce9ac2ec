// Reports which lines of src the tests ran, in their own processes and, since children inherit NODE_V8_COVERAGE, in every server and
// command they started. V8 counts, and c8 combines the counts through the source maps. A killed program reports no counts. Uses
// Monocart's engine, because c8's own cannot map a bundle of several sources: it cuts every range off at the length of the first.

import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, succeeds, tool } from '../tool.mjs';

/** Percentage of the lines of src that all tests together must run. */
const leastPercent = 90;

export class Coverage {
  #folder = mkdtempSync(path.join(tmpdir(), 'coverage-'));
  /** @type {Set<string>} */
  #slimmed = new Set();

  constructor() {
    chmodSync(this.#folder, 0o1777); // servers that tests run as another user write here too
  }

  /** Environment variables that make a program write its counts. */
  get env() {
    return { NODE_V8_COVERAGE: this.#folder };
  }

  /**
   * Reduces the reports written so far to our own code. Each of several thousand programs writes one, with a copy of every source map:
   * together they would fill the disk.
   */
  slim() {
    const ours = `${pathToFileURL(path.join(root, 'dist')).href}/`;
    for (const name of readdirSync(this.#folder).filter((each) => !this.#slimmed.has(each))) {
      const file = path.join(this.#folder, name);
      /** @type {{ result: { url: string }[] } | undefined} */
      const report = parsed(readFileSync(file, 'utf8'));
      if (report === undefined) continue;
      writeFileSync(file, JSON.stringify({ result: report.result.filter(({ url }) => url.startsWith(ours)) }));
      this.#slimmed.add(name);
    }
  }

  /**
   * Prints a row for each file, with the lines that were not run. Incomplete reports are left out.
   * @param {'all' | 'some'} tests with "some", no minimum is enforced
   * @returns whether enough lines were run
   */
  report(tests) {
    this.slim();
    for (const name of readdirSync(this.#folder).filter((each) => !this.#slimmed.has(each)))
      rmSync(path.join(this.#folder, name));
    const least = tests === 'all' ? ['--check-coverage', '--lines', String(leastPercent)] : [];
    const folders = ['--temp-directory', this.#folder, '--reports-dir', path.join(this.#folder, 'report')];
    const which = ['--src', 'src', '--include', 'dist/**', '--include', 'src/**', '--exclude-after-remap'];
    const how = ['--experimental-monocart', '--reporter', 'console-details'];
    return succeeds(tool('c8'), ['report', ...folders, ...which, ...how, ...least]);
  }

  [Symbol.dispose]() {
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * Undefined if the report is incomplete: it is still being written, or its program was killed while writing.
 * @param {string} text
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
