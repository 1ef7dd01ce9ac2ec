// The tests and commands that docs/reliability.md names exist, and no fault test is left out.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { knownBreaks } from '../simulation/known-breaks.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'reliability.md'), 'utf8');
const sources = ['test', 'src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);

describe('docs/reliability.md', () => {
  test('names files that exist', () => {
    const named = Array.from(page.matchAll(/`([\w/*-]+(?:\.test)?\.ts)`/g), ([, name]) => name ?? '');
    assert.ok(named.length > 30);
    const missing = named.filter((name) => !sources.some((file) => isNamed(file, name)));
    assert.deepEqual(missing, []);
  });

  test('names every test file of faults and of security', () => {
    const files = sources.filter((file) => /^test\/(?:faults|security)\/.*\.test\.ts$/.test(file));
    assert.ok(files.length > 20);
    assert.deepEqual(
      files.filter((file) => !page.includes(`\`${file}\``) && !page.includes(`\`${basename(file)}\``)),
      [],
    );
  });

  test('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const named = Array.from(page.matchAll(/`npm run ([\w:-]+)|`(e2e:[\w-]+)`/g), ([, one, other]) => one ?? other ?? '');
    assert.ok(named.length >= 8);
    assert.deepEqual(
      named.filter((name) => scripts[name] === undefined),
      [],
    );
  });

  test('links to pages and headings that exist', () => {
    for (const [, file = '', heading = ''] of page.matchAll(/\]\(([\w.]*)#?([\w-]*)\)/g)) {
      const text = file === '' ? page : readFileSync(join(root, 'docs', file), 'utf8');
      const headings = Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
      assert.ok(heading === '' || headings.includes(heading), `${file}#${heading}`);
    }
  });

  test('counts the scenarios that once failed', () => {
    assert.match(page, new RegExp(`; ${knownBreaks.length} scenarios that once failed`));
  });
});

/** Matches the whole path, or only the file name if the page names it without a folder. */
function isNamed(file: string, name: string): boolean {
  if (!name.includes('/')) return basename(file) === name;
  return new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(file);
}
