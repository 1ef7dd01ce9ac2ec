// Compares `sluice serve` with `codex exec-server` and with what the machine can do without either. Every byte and every sequence
// number is checked: wrong ones make it fail, slow ones do not.
//
//   npm run bench -- [--quick] [--rounds 5] [--only WORD]... [--transport ws|stdio] [--json [FILE]]
//                    [--growth] [--sluice-only] [--as-shipped]
//
// --only selects the lines with that word in their name. --growth shows how the cost of Sluice grows instead, without codex.
// --as-shipped leaves codex's socket options in effect: over ws it then waits 40 ms before every second small message.

import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../scripts/measure.mjs';
import { succeeds } from '../scripts/tool.mjs';
import { allLines, growthTables } from './lines/all.mjs';
import { asError } from './inbox.mjs';
import { markdownOf } from './report.mjs';
import { run } from './run.mjs';
import { Stage } from './stage.mjs';
import { floorsOf, summarize } from './summary.mjs';
import { codexTargets, sluiceTarget } from './targets.mjs';

/** @import { AnyLine, Transport } from './line.mjs' */
/** @import { Circumstances } from './report.mjs' */
/** @import { Row } from './summary.mjs' */

const { values: options } = parseArgs({
  args: withJsonTarget(process.argv.slice(2)),
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    transport: { type: 'string' },
    'sluice-only': { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    'as-shipped': { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
if (process.platform !== 'linux') throw new Error('the benchmark reads resource usage from /proc, which only Linux has');
/** @param {string} text */
const say = (text) => process.stderr.write(`${text}\n`);
const rounds = wholeNumber('rounds', options.rounds ?? (options.quick ? '1' : '5'));
const transports = transportsOf(options.transport);
const lines = linesOf(options.growth ? growthTables : allLines, options.only);

const startedAt = performance.now();
const loadBefore = loadavg()[0];
const stage = new Stage();
// Servers and the folder are removed with this program, however it ends.
process.on('exit', () => stage.remove());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stopAtOnce);

const codex = codexIfAny();
const { samples, failures, checked } = await run({
  lines: options['as-shipped'] ? lines.map((line) => ({ ...line, reads: 'plain' })) : lines,
  transports,
  rounds,
  sizes: options.quick ? 'quick' : 'full',
  sluice: sluiceTarget(),
  codex,
  stage,
  say,
});
report({
  hasCodex: codex !== undefined,
  checked,
  failures,
  floors: floorsOf(lines),
  rows: summarize({ lines, samples, transports }),
});
if (failures.length > 0 || !cliStartIsSound()) process.exitCode = 1;

/**
 * `--json` alone means stdout.
 * @param {string[]} args
 */
function withJsonTarget(args) {
  return args.flatMap((arg, index) => {
    const isAlone = arg === '--json' && (args[index + 1] ?? '--').startsWith('--');
    return isAlone ? ['--json=-'] : [arg];
  });
}

/**
 * @param {string | undefined} choice
 * @returns {Transport[]}
 */
function transportsOf(choice) {
  if (choice === undefined) return ['ws', 'stdio'];
  if (choice !== 'ws' && choice !== 'stdio') throw new Error(`--transport must be ws or stdio, got "${choice}"`);
  return [choice];
}

/**
 * @param {AnyLine[]} all
 * @param {string[]} words
 */
function linesOf(all, words) {
  const chosen = all.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (chosen.length > 0) return chosen;
  const names = all.map(({ name }) => `  ${name}`).join('\n');
  throw new Error(`no line has ${words.map((word) => `"${word}"`).join(' or ')} in its name; the lines are:\n${names}`);
}

/** A quick run only checks that everything works, so it continues without codex. */
function codexIfAny() {
  if (options['sluice-only'] || options.growth) return undefined;
  try {
    return codexTargets();
  } catch (error) {
    if (!options.quick) throw error;
    say(`codex cannot be installed, so Sluice is measured alone: ${asError(error).message}`);
    return undefined;
  }
}

/** @param {Pick<Circumstances, 'hasCodex' | 'checked' | 'failures' | 'floors'> & { rows: Row[] }} outcome */
function report(outcome) {
  /** @type {Parameters<typeof markdownOf>[0]} */
  const whole = {
    machine: { node: process.version, processors: `${cpus().length} × ${cpus()[0].model.trim()}` },
    load: { before: loadBefore, after: loadavg()[0] },
    rounds,
    seconds: Math.round((performance.now() - startedAt) / 1000),
    kind: options.quick ? 'quick' : 'full',
    reads: options['as-shipped'] ? 'plain' : 'nudge',
    ...outcome,
  };
  const json = `${JSON.stringify(whole, undefined, 2)}\n`;
  if (options.json === '-') return void process.stdout.write(json);
  if (options.json !== undefined) writeFileSync(options.json, json);
  console.log(markdownOf(whole));
}

/** Prints the command line's figures below the server's; not for a selection of lines, and not if JSON goes to stdout. */
function cliStartIsSound() {
  if (options.json === '-' || options.growth || options.only.length > 0) return true;
  console.log('');
  return succeeds(process.execPath, [path.join('bench', 'cli-start.mjs'), ...(options.quick ? ['--quick'] : [])]);
}

/** @param {NodeJS.Signals} signal */
function stopAtOnce(signal) {
  say(`ended by ${signal}`);
  process.exit(130);
}
