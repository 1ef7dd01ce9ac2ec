// Runs every check that a change must pass, and stops at the first step that fails.
//
//   npm test                              all steps, all tests
//   npm test -- --quick                   the build and the fast tests, in less than a minute
//   npm test -- --only-tests              without the static checks
//   npm test -- --only-tests bytes stdio  only test files with one of these words in their path
//   npm test -- --coverage                reports which lines of src the tests ran, and fails if there are too few

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Coverage } from './coverage.mjs';
import { testFiles, testsPass } from './test-files.mjs';
import { succeeds, tool } from '../tool.mjs';

const { values: options, positionals: words } = parseArgs({
  options: {
    'only-tests': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const files = testFiles({ words, isQuick: options.quick });
if (files.length === 0) throw new Error(`no test file has ${words.map((word) => `"${word}"`).join(' or ')} in its path`);

console.log(`Node ${process.version}`);
await step('build', () => succeeds(process.execPath, ['scripts/build/build.mjs']));
await step('compile tests', () => succeeds(tool('tsc'), ['-b', 'tsconfig.test.json']));
if (!options['only-tests'] && !options.quick) {
  await step('types of scripts', () => succeeds(tool('tsc'), ['-p', 'tsconfig.scripts.json']));
  await step('lint', () => succeeds(tool('oxlint'), ['--type-aware', '--deny-warnings']));
  await step('format', () => succeeds(tool('oxfmt'), ['--check']));
  await step('unused code', () => succeeds(tool('knip'), ['--no-progress']));
  await step('package', packageIsSound);
}
await step('tests', () => (options.coverage ? testsPassAndCover() : testsPass(files)));

/**
 * @param {string} name
 * @param {() => boolean | Promise<boolean>} passes
 */
async function step(name, passes) {
  console.log(`\n▸ ${name}`);
  const startedAt = performance.now();
  const passed = await passes();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (passed) return console.log(`✓ ${name}: ${seconds} s`);
  console.error(`✗ ${name} failed after ${seconds} s`);
  process.exit(1);
}

/** Packs the package as it would be published, and checks the tarball that users would get. */
function packageIsSound() {
  const folder = mkdtempSync(path.join(tmpdir(), 'sluice-pack-'));
  try {
    if (!succeeds('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])) return false;
    const tarball = path.join(folder, readdirSync(folder).join());
    return (
      succeeds(tool('publint'), ['run', tarball, '--strict']) &&
      succeeds(tool('attw'), [tarball, '--profile', 'esm-only', '--no-summary'])
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function testsPassAndCover() {
  const coverage = new Coverage();
  process.once('exit', () => coverage[Symbol.dispose]());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  const passed = await testsPass(files, { env: coverage.env, onFileEnd: () => coverage.slim() });
  return coverage.report(words.length === 0 && !options.quick ? 'all' : 'some') && passed;
}
