// Measures how long the command line takes from start to exit, compared with a Node that does nothing. No figure makes it fail; a command
// that does not do its work does.
//
//   npm run bench:cli -- [--quick] [--json]      (also run at the end of `npm run bench`)

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { median, quantile, tableHead, tableRow } from '../scripts/measure.mjs';
import { root } from '../scripts/tool.mjs';

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const program = path.join(root, manifest.bin.sluice);

/** The others are compared with the first. */
const commands = [
  { name: 'node -e 0', file: process.execPath, args: ['-e', '0'], stdout: '' },
  { name: 'sluice --version', file: program, args: ['--version'], stdout: `${manifest.version}\n` },
  { name: 'sluice exec -- true', file: program, args: ['exec', '--', 'true'], stdout: '' },
];

/** The current environment, and the same without NODE_*: NODE_EXTRA_CA_CERTS alone costs Node 20 more than the rest of its start. */
const environments = [
  { label: 'unchanged', env: process.env },
  {
    label: 'without NODE_*',
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_'))),
  },
];

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const rounds = options.quick ? 5 : 30;

const results = environments.flatMap(({ label, env }) => summarize(label, sampleAll(env)));
if (options.json) console.log(JSON.stringify(results, undefined, 2));
else printTable(results);

/**
 * Runs the commands in turn, so that a busy moment affects all of them equally. The first round fills caches and does not count.
 * @param {NodeJS.ProcessEnv} env
 */
function sampleAll(env) {
  const cases = commands.map((command) => ({ command, times: /** @type {number[]} */ ([]) }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { command, times } of cases) {
      const tookMs = timeOf(command, env);
      if (round > 0) times.push(tookMs);
    }
  }
  return cases;
}

/**
 * @param {(typeof commands)[number]} command
 * @param {NodeJS.ProcessEnv} env
 */
function timeOf({ name, file, args, stdout: expected }, env) {
  const startedAt = performance.now();
  const { status, signal, stdout, stderr, error } = spawnSync(file, args, {
    env: { ...env, PATH: `${path.dirname(process.execPath)}:${env.PATH}` }, // the program finds Node here
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  const tookMs = performance.now() - startedAt;
  if (error !== undefined) throw error;
  if (status === 0 && stdout === expected && stderr === '') return tookMs;
  throw new Error(`"${name}" ended with ${signal ?? `code ${status}`} and printed ${JSON.stringify({ stdout, stderr })}`);
}

/**
 * @param {string} environment
 * @param {ReturnType<typeof sampleAll>} cases
 */
function summarize(environment, cases) {
  const baseMs = median(cases[0].times);
  return cases.map(({ command, times }) => ({
    environment,
    command: command.name,
    p50Ms: median(times),
    p25Ms: quantile(times, 0.25),
    p75Ms: quantile(times, 0.75),
    ratio: median(times) / baseMs,
  }));
}

/** @param {ReturnType<typeof summarize>} summaries */
function printTable(summaries) {
  console.log(tableHead('environment', 'command', 'p50 ms', 'p25 to p75 ms', 'ratio'));
  for (const { environment, command, p50Ms, p25Ms, p75Ms, ratio } of summaries) {
    console.log(
      tableRow(
        environment,
        `\`${command}\``,
        p50Ms.toFixed(1),
        `${p25Ms.toFixed(1)} to ${p75Ms.toFixed(1)}`,
        `${ratio.toFixed(2)}x`,
      ),
    );
  }
  console.log(`\n${rounds} rounds on Node ${process.version}. Ratios are to \`${commands[0].name}\` in the same environment.`);
}
