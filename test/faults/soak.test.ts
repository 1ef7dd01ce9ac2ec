// A short soak: many clients, every kind of action, connections cut repeatedly. `npm run soak` is the long version.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const script = fileURLToPath(new URL('../../scripts/long-runs/soak.mjs', import.meta.url));

guardAgainstLeaks();

test('a few seconds of everything at once: every byte is right, every call is answered, nothing is left behind', (context) => {
  const args = [script, '--seconds', '6', '--clients', '10', '--keep-seconds', '60'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  context.diagnostic(stdout);
  assert.equal(status, 0, stdout + stderr);
});
