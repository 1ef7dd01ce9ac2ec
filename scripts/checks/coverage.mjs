// Which lines of src the tests have run: in their own processes and, since children inherit NODE_V8_COVERAGE, in every server and command they
// started. V8 counts, c8 puts the counts together by the source maps. What a killed program had run is not known. c8's own engine cannot map a
// bundle of several sources: it cuts every range off at the length of the first. Monocart's can.

import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, succeeds, tool } from '../tool.mjs';

/** Lines of src that all tests together must run. */
const leastPercent = 90;

export class Coverage {
  #folder = mkdtempSync(path.join(tmpdir(), 'coverage-'));
  /** @type {Set<string>} */
  #slimmed = new Set();

  constructor() {
    chmodSync(this.#folder, 0o1777); // also for servers that tests run as another user
  }

  /** What programs need in their environment to be counted. */
  get env() {
    return { NODE_V8_COVERAGE: this.#folder };
  }

  /**
   * Leaves in the reports that have come what is about our own code. Each of some thousand programs writes one, with a copy of every source map:
   * all together they would fill the disk.
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
   * Prints a row for each file, with the lines that were not run.
   * @param {'all' | 'some'} tests some of the tests may cover as little as they like
   * @returns whether enough lines were run
   */
  report(tests) {
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
 * Nothing when it is incomplete: it is being written, or its program was killed meanwhile. c8 passes over such a one.
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
