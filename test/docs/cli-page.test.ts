// The command-line reference is generated; this fails when it is out of date.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spellings } from '#src/cli/command.js';
import { commands } from '#src/cli/commands.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

describe('docs/cli.md', () => {
  test('is up to date with the manuals', () => {
    const generated = execFileSync(process.execPath, ['scripts/docs/generate-docs.mjs', '--print', 'cli'], {
      cwd: root,
      encoding: 'utf8',
    });
    if (page === generated) return;
    const [was, is] = [page.split('\n'), generated.split('\n')];
    const line = (is.length < was.length ? was : is).findIndex((_, at) => was[at] !== is[at]);
    assert.fail(`run "npm run docs": line ${line + 1} of docs/cli.md\n  is       ${was[line]}\n  must be  ${is[line]}`);
  });

  test('has a section for every command, with every option in a table', async () => {
    for (const { name, load } of commands) {
      assert.ok(page.includes(`\n## sluice ${name}\n`), name);
      for (const spelled of spellings((await load()).manual.options)) {
        const either = spelled.replace(/^--no-/, '--');
        const rows = [`${spelled}[\` ]`, `${either.replace('--', '--\\[no-\\]')}[\` ]`];
        assert.match(page, new RegExp(`^\\| \`(?:-\\w, )?(?:${rows.join('|')})`, 'm'), `${name} ${spelled}`);
      }
    }
  });

  test('links only to headings that exist', () => {
    const anchors = Array.from(page.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'));
    const links = Array.from(page.matchAll(/\]\(#([^)]*)\)/g), ([, anchor = '']) => anchor);
    assert.ok(links.length >= commands.length);
    assert.deepEqual(
      links.filter((link) => !anchors.includes(link)),
      [],
    );
  });
});
