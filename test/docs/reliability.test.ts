// The page about what can be relied on names tests and commands: they are there, and no fault that is injected is left out.

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

describe('the page about reliability', () => {
  test('names files that are there', () => {
    const named = Array.from(page.matchAll(/`([\w/*-]+(?:\.test)?\.ts)`/g), ([, name]) => name ?? '');
    assert.ok(named.length > 30);
    const missing = named.filter((name) => !sources.some((file) => isNamed(file, name)));
    assert.deepEqual(missing, []);
  });

  test('names every file of faults and of attacks', () => {
    const files = sources.filter((file) => /^test\/(?:faults|security)\/.*\.test\.ts$/.test(file));
    assert.ok(files.length > 20);
    assert.deepEqual(
      files.filter((file) => !page.includes(`\`${file}\``) && !page.includes(`\`${basename(file)}\``)),
      [],
    );
  });

  test('names commands that are there', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const named = Array.from(page.matchAll(/`npm run ([\w:-]+)|`(e2e:[\w-]+)`/g), ([, one, other]) => one ?? other ?? '');
    assert.ok(named.length >= 8);
    assert.deepEqual(
      named.filter((name) => scripts[name] === undefined),
      [],
    );
  });

  test('links to places that are there', () => {
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

/** Whole, or by its last part when its folder was named just before. */
function isNamed(file: string, name: string): boolean {
  if (!name.includes('/')) return basename(file) === name;
  return new RegExp(`^${name.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(file);
}
