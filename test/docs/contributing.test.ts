// The files and commands that CONTRIBUTING.md names exist.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

describe('CONTRIBUTING.md', () => {
  test('names files and folders that exist', () => {
    const named = Array.from(
      page.matchAll(/[`(]((?:src|test|docs|examples|scripts|\.ci)\/[\w./-]+)[`)]/g),
      ([, name = '']) => name,
    );
    assert.ok(named.length > 30);
    assert.deepEqual(
      named.filter((name) => !existsSync(join(root, name))),
      [],
    );
  });

  test('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const named = Array.from(page.matchAll(/npm run ([\w:-]+)/g), ([, name = '']) => name);
    assert.ok(named.length > 4);
    assert.deepEqual(
      named.filter((name) => scripts[name] === undefined),
      [],
    );
  });

  test('names every folder of src', () => {
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).flatMap((each) =>
      each.isDirectory() ? [each.name] : [],
    );
    assert.deepEqual(
      Array.from(page.matchAll(/^- `src\/(\w+)`/gm), ([, folder = '']) => folder).toSorted((a, b) => a.localeCompare(b)),
      folders.toSorted((a, b) => a.localeCompare(b)),
    );
  });
});
