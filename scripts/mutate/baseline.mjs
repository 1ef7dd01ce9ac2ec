// What each test file does with unchanged code: whether it passes, how long it takes and which mutants' places it reaches.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../tool.mjs';
import { reachedIn } from './coverage.mjs';
import { Notes, digest, digestOfFolder } from './notes.mjs';

/** Longest a test file may take. */
const patienceMs = 300_000;

/** Listed from the sources, because a compiled test outlives its source. */
function testFiles() {
  return readdirSync(path.join(root, 'test'), { recursive: true })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => path.join('dist-test', file.replace(/\.ts$/, '.js')))
    .toSorted();
}

/** The code of a test file, and of all it is made of besides what it tests: what it imports, and fixtures it names. */
function withImports(file, known = new Map()) {
  if (known.has(file) || !existsSync(file)) return known;
  const code = readFileSync(file, 'utf8');
  known.set(file, code);
  for (const [, name] of code.matchAll(/'(\.{1,2}\/[^']+\.js)'/g)) withImports(path.join(path.dirname(file), name), known);
  return known;
}

export class Baseline {
  #notes = new Notes('baseline');
  /** Each test file, and the key that what is known of it is kept under. */
  #keys;
  #modules = new Map();

  /** @param {{ module: string, start: number }[]} mutants all there are */
  constructor(mutants) {
    for (const { module, start } of mutants) this.#modules.set(module, [...(this.#modules.get(module) ?? []), start]);
    const dist = digestOfFolder('dist');
    const keyOf = (file) => `${file} ${digest(dist, ...withImports(path.join(root, file)).values())}`;
    this.#keys = new Map(testFiles().map((file) => [file, keyOf(file)]));
  }

  /** Test files about which nothing is known yet. */
  missing() {
    return [...this.#keys].filter(([, key]) => this.#notes.get(key) === undefined).map(([file]) => file);
  }

  /** Twice: being counted takes its time, and Node hands the wish for it on to children that are to have no such variable. */
  async measure(file, tree) {
    const { outcome, test, ms } = await tree.run(file, { timeoutMs: patienceMs });
    const folder = mkdtempSync(path.join(tmpdir(), 'coverage-'));
    await tree.run(file, { timeoutMs: patienceMs, coverage: folder });
    const places = new Map([...this.#modules].map(([module, starts]) => [tree.moduleAt(module), starts]));
    const reached = reachedIn(folder, places);
    rmSync(folder, { recursive: true, force: true });
    const byModule = [...this.#modules.keys()].map((module) => [module, [...reached.get(tree.moduleAt(module))]]);
    const fact = { outcome, test, ms, reached: Object.fromEntries(byModule.filter(([, starts]) => starts.length > 0)) };
    this.#notes.set(this.#keys.get(file), fact);
    return fact;
  }

  /** Files that pass without the mutant and reach its place, with the time they take. */
  reaching({ module, start }) {
    return this.#known()
      .filter(({ outcome, reached }) => outcome === 'passed' && reached[module]?.includes(start) === true)
      .map(({ file, ms }) => ({ file, ms }));
  }

  /** Files that fail on unchanged code in a copy, although they reach it, and so can say nothing. */
  useless() {
    return this.#known().filter(({ outcome, reached }) => outcome !== 'passed' && Object.keys(reached).length > 0);
  }

  #known() {
    return [...this.#keys].map(([file, key]) => ({ file, ...this.#notes.get(key) }));
  }
}
