// Runs everything that must hold before a change is good, and stops at the first step that fails.
//
//   npm test                              all steps, all tests
//   npm test -- --only-tests              without the static checks
//   npm test -- --only-tests bytes stdio  only test files with one of these words in their path
//   npm test -- --coverage                tells how many lines of src the tests have run, and fails when those are too few

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CoverageRun, printCoverage } from './coverage.mjs';
import { root, succeeds, tool } from './tool.mjs';

/** Longest a test file may take, in milliseconds. Far above the slowest one: a hanging test must not hang a build machine. */
const fileTimeoutMs = 600_000;

/** How much longer a file gets before it is killed, in milliseconds: Node itself may hang, for want of threads for example. */
const fileGraceMs = 30_000;

/** Lines of src, of those with code in them, that all tests together must run. */
const leastCoveragePercent = 90;

const { values: options, positionals: words } = parseArgs({
  options: { 'only-tests': { type: 'boolean', default: false }, coverage: { type: 'boolean', default: false } },
  allowPositionals: true,
});

console.log(`Node ${process.version}`);
await step('build', () => succeeds(process.execPath, ['scripts/build.mjs']));
await step('compile tests', () => succeeds(tool('tsc'), ['-b', 'tsconfig.test.json']));
if (!options['only-tests']) {
  await step('lint', () => succeeds(tool('oxlint'), ['--type-aware', '--deny-warnings']));
  await step('format', () => succeeds(tool('oxfmt'), ['--check']));
  await step('unused code', () => succeeds(tool('knip'), ['--no-progress']));
  await step('package', packageIsSound);
}
await step('tests', options.coverage ? testsPassAndCover : () => testsPass([]));

async function step(name, passes) {
  console.log(`\n▸ ${name}`);
  const startedAt = performance.now();
  const passed = await passes();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (passed) return console.log(`✓ ${name}: ${seconds} s`);
  console.error(`✗ ${name} failed after ${seconds} s`);
  process.exit(1);
}

/** What would be published is packed once, then judged as its users would get it. */
function packageIsSound() {
  const folder = mkdtempSync(path.join(tmpdir(), 'sluice-pack-'));
  try {
    if (!succeeds('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])) return false;
    const tarball = path.join(folder, readdirSync(folder)[0]);
    return (
      succeeds(tool('publint'), ['run', tarball, '--strict']) &&
      succeeds(tool('attw'), [tarball, '--profile', 'esm-only', '--no-summary'])
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Some of the tests may cover as little as they like. */
async function testsPassAndCover() {
  const coverage = new CoverageRun();
  process.once('exit', () => coverage[Symbol.dispose]());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  const passed = await testsPass(coverage.nodeFlags);
  const percent = printCoverage(coverage.lines());
  if (words.length > 0 || percent >= leastCoveragePercent) return passed;
  console.error(`only ${percent.toFixed(1)} % of the lines of src are run by tests, ${leastCoveragePercent} % must be`);
  return false;
}

/**
 * Two files at a time, since most of a test is waiting; each in a process and with a folder for temporary files of its own, because
 * each guards against leaks and must see only what it left itself.
 */
async function testsPass(nodeFlags) {
  const files = testFiles();
  if (files.length === 0) {
    console.error(`no test file has ${words.map((word) => `"${word}"`).join(' or ')} in its path`);
    return false;
  }
  const failed = [];
  const lane = async () => {
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      if (!(await fileSucceeds(file, nodeFlags))) failed.push(file);
    }
  };
  await Promise.all([lane(), lane()]);
  if (failed.length > 0) console.error(`failed:\n${failed.map((file) => `  ${file}`).join('\n')}`);
  return failed.length === 0;
}

/** Prints a file's report when it is complete, so that two of them do not mix. */
async function fileSucceeds(file, nodeFlags) {
  const folder = mkdtempSync(path.join(tmpdir(), 'test-'));
  const flags = [...nodeFlags, '--enable-source-maps', '--test', `--test-timeout=${fileTimeoutMs}`, '--test-reporter=spec'];
  const child = spawn(process.execPath, [...flags, file], { cwd: root, env: { ...process.env, TMPDIR: folder } });
  const report = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => report.push(piece));
  const overdue = setTimeout(() => {
    report.push(Buffer.from('killed: it did not end in time\n'));
    child.kill('SIGKILL');
  }, fileTimeoutMs + fileGraceMs);
  const [code] = await once(child, 'close');
  clearTimeout(overdue);
  console.log(`\n${file}\n${Buffer.concat(report).toString().trimEnd()}`);
  rmSync(folder, { recursive: true, force: true });
  return code === 0;
}

/** Listed from the sources, because a compiled test outlives its source. */
function testFiles() {
  return readdirSync(path.join(root, 'test'), { recursive: true })
    .filter((file) => file.endsWith('.test.ts') && (words.length === 0 || words.some((word) => file.includes(word))))
    .map((file) => path.join('dist-test', file.replace(/\.ts$/, '.js')))
    .toSorted();
}
