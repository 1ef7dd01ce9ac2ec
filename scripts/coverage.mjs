// Which lines of src the tests have run, in their own processes and in every server and command they started. What a program that was killed
// had run is not known, nor what a fixture runs in a process of its own, so the figure is rather too low than too high.

import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tableHead, tableRow } from './measure.mjs';
import { piecesOf } from './source-pieces.mjs';
import { root } from './tool.mjs';

const compiled = path.join(root, 'dist');
const program = path.join(compiled, 'bin', 'sluice.cjs');
const hook = path.join(root, 'scripts', 'coverage-hook.cjs');

/** Until it is disposed, the built program leaves what it has run in a folder, and so does whatever Node starts with the flags. */
export class CoverageRun {
  /** Also for servers that tests run as another user. */
  #folder = mkdtempSync(path.join(tmpdir(), 'coverage-'));
  #program = readFileSync(program, 'utf8');
  #starter = path.join(this.#folder, 'start.cjs');

  constructor() {
    chmodSync(this.#folder, 0o1777);
    const options = { ours: compiled + path.sep, folder: this.#folder };
    writeFileSync(this.#starter, `require(${JSON.stringify(hook)}).keepCoverage(${JSON.stringify(options)});\n`);
    const before = `require(${JSON.stringify(this.#starter)}); require(${JSON.stringify(hook)}).refuseCaches();\n`;
    writeFileSync(program, this.#program.replace(/(?<=^'use strict';\n)/m, before));
  }

  get nodeFlags() {
    return ['--require', this.#starter];
  }

  /** Of each file of src with code in it, its lines with code, and whether each was run. */
  lines() {
    const lines = linesWithCode();
    const scripts = new Map();
    for (const name of readdirSync(this.#folder).filter((each) => each.endsWith('.json'))) {
      for (const [file, functions] of readReport(path.join(this.#folder, name))) {
        if (!scripts.has(file)) scripts.set(file, new Script(file));
        scripts.get(file).add(functions);
      }
    }
    for (const { file, line } of [...scripts.values()].flatMap((script) => script.run())) {
      if (lines.get(file)?.has(line)) lines.get(file).set(line, true);
    }
    return lines;
  }

  [Symbol.dispose]() {
    writeFileSync(program, this.#program);
    rmSync(this.#folder, { recursive: true });
  }
}

/** One script, in however many processes it was loaded. */
class Script {
  #pieces;
  #isRun;

  constructor(file) {
    this.#pieces = piecesOf(file);
    this.#isRun = new Uint8Array(this.#pieces.length);
  }

  /** Ranges come from the outside in: the last one that holds a piece tells of it. */
  add(functions) {
    const isRun = new Uint8Array(this.#pieces.length);
    for (const [start, end, count] of functions.flat()) isRun.fill(count > 0 ? 1 : 0, this.#indexOf(start), this.#indexOf(end));
    for (let index = 0; index < isRun.length; index += 1) this.#isRun[index] |= isRun[index];
  }

  run() {
    return this.#pieces.filter((piece, index) => this.#isRun[index] === 1 && holdsCode(piece));
  }

  /** Of the first piece at or after an offset. */
  #indexOf(offset) {
    let [low, high] = [0, this.#pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#pieces[middle].offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** As the compiler sees it: of types and comments nothing is left to be run, and imports do nothing but load. */
function linesWithCode() {
  const lines = new Map();
  for (const script of readdirSync(compiled, { recursive: true }).filter((name) => name.endsWith('.js'))) {
    const file = path.join(compiled, script);
    const imports = Array.from(readFileSync(file, 'utf8').matchAll(importing), ({ 0: text, index }) => [
      index,
      index + text.length,
    ]);
    const isImport = ({ offset }) => imports.some(([start, end]) => offset >= start && offset < end);
    for (const piece of piecesOf(file).filter((each) => holdsCode(each) && !isImport(each))) {
      if (!lines.has(piece.file)) lines.set(piece.file, new Map());
      lines.get(piece.file).set(piece.line, false);
    }
  }
  return lines;
}

const importing = /^(?:import|export) [^;]*?from '[^']*';$/gm;

/** More than brackets, and more than words that do nothing by themselves: `export` is run when a file is loaded, whatever stands behind it. */
function holdsCode({ text }) {
  return (
    !/^\/[/*]/.test(text) && /[\w$'"`]/.test(text.replaceAll(/\b(?:export|default|async|static|else|try|finally|do)\b/g, ''))
  );
}

/** Prints a row for each folder and one for all, then which lines were not run. Gives the share of those that were, in percent. */
export function printCoverage(lines) {
  const all = [...lines].flatMap(([file, own]) => {
    const name = path.relative(root, file);
    return Array.from(own, ([line, isRun]) => ({ name, folder: name.split(path.sep).slice(0, 2).join('/'), line, isRun }));
  });
  console.log(`\n${tableHead('', 'lines with code', 'run', '%')}`);
  for (const folder of new Set(all.map((each) => each.folder).toSorted())) {
    printRow(
      folder,
      all.filter((each) => each.folder === folder),
    );
  }
  printRow('all', all);
  console.log('\nnot run:');
  for (const name of new Set(all.map((each) => each.name).toSorted())) {
    const missed = all.filter((each) => each.name === name && !each.isRun).map(({ line }) => line);
    if (missed.length > 0) console.log(`  ${name}: ${rangesOf(missed)}`);
  }
  return percentOf(all);
}

function printRow(name, lines) {
  console.log(tableRow(name, lines.length, lines.filter(({ isRun }) => isRun).length, percentOf(lines).toFixed(1)));
}

function percentOf(lines) {
  return (100 * lines.filter(({ isRun }) => isRun).length) / lines.length;
}

/** As in `3, 7-9`. */
function rangesOf(numbers) {
  const ranges = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    if (ranges.at(-1)?.[1] === number - 1) ranges.at(-1)[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

/** What one program has run. A program that was killed while it wrote, or that may not write long files, leaves a torn report: it counts for nothing. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
