// Hundreds of processes, one after another, leave nothing behind: no descriptor, thread, zombie, timer or memory.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/long-runs/churn.mjs', import.meta.url));

test('a short churn of processes leaves nothing behind; `npm run churn` is the long version', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--count', '200', '--wait-ms', '2000'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout + stderr);
});
