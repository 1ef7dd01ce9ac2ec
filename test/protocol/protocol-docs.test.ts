// Fails when the generated reference page is out of date.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('docs/protocol.md matches the method table', () => {
  const generated = execFileSync(process.execPath, ['scripts/docs/generate-docs.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  });
  const committed = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
  if (committed === generated) return;
  const [was, is] = [committed.split('\n'), generated.split('\n')];
  const line = (is.length < was.length ? was : is).findIndex((_, at) => was[at] !== is[at]);
  assert.fail(`run "npm run docs": line ${line + 1} of docs/protocol.md\n  is       ${was[line]}\n  must be  ${is[line]}`);
});
