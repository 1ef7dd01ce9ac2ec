// Runs everything that must hold before a change is good, and stops at the first step that fails.
//
//   npm test                              all steps, all tests
//   npm test -- --only-tests              without the static checks
//   npm test -- --only-tests bytes stdio  only test files with one of these words in their path

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root, succeeds, tool } from './tool.mjs';

/** Longest a test file may take, in milliseconds. Far above the slowest one: a hanging test must not hang a build machine. */
const fileTimeoutMs = 600_000;

const { values: options, positionals: words } = parseArgs({
  options: { 'only-tests': { type: 'boolean', default: false } },
  allowPositionals: true,
});

console.log(`Node ${process.version}`);
step('build', () => succeeds(process.execPath, ['scripts/build.mjs']));
step('compile tests', () => succeeds(tool('tsc'), ['-b', 'tsconfig.test.json']));
if (!options['only-tests']) {
  step('lint', () => succeeds(tool('oxlint'), ['--type-aware', '--deny-warnings']));
  step('format', () => succeeds(tool('oxfmt'), ['--check']));
  step('unused code', () => succeeds(tool('knip'), ['--no-progress']));
  step('package', packageIsSound);
}
step('tests', testsPass);

function step(name, passes) {
  console.log(`\n▸ ${name}`);
  const startedAt = performance.now();
  const passed = passes();
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

/** One file at a time: each guards against leaked processes, and must see only its own. */
function testsPass() {
  const files = testFiles();
  if (files.length === 0) {
    console.error(`no test file has ${words.map((word) => `"${word}"`).join(' or ')} in its path`);
    return false;
  }
  return succeeds(process.execPath, [
    '--enable-source-maps',
    '--test',
    '--test-concurrency=1',
    `--test-timeout=${fileTimeoutMs}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    ...files,
  ]);
}

/** Listed from the sources, because a compiled test outlives its source. */
function testFiles() {
  return readdirSync(path.join(root, 'test'), { recursive: true })
    .filter((file) => file.endsWith('.test.ts') && (words.length === 0 || words.some((word) => file.includes(word))))
    .map((file) => path.join('dist-test', file.replace(/\.ts$/, '.js')))
    .toSorted();
}
