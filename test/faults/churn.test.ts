// Hundreds of processes, one after the other, leave nothing: no descriptor, thread, zombie or timer, and no memory.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/long-runs/churn.mjs', import.meta.url));

test('a short churn of processes leaves nothing behind; `npm run churn` is the long one', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--count', '200', '--wait-ms', '2000'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout + stderr);
});
