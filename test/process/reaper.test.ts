// Collecting the children of a program that does other things as well.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const libc = loadLibc();
const env = { PATH: process.env['PATH'] ?? '' };

describe('a child that somebody else in the program has collected', { skip: libc === undefined }, () => {
  guardAgainstLeaks();

  test('is lost: how it ended is not made up, and nobody waits for it for ever', async () => {
    await using client = connectInProcess({ backend: 'linux' });
    await using child = await client.start({ argv: ['sleep', '60'], env });
    process.kill(child.pid, 'SIGKILL');
    assert.equal(libc?.wait4(child.pid, new Int32Array(1), 0, Buffer.alloc(256)), child.pid); // before we get a turn
    const { kind, reason } = await child.exit;
    assert.deepEqual({ kind, reason }, { kind: 'lost', reason: 'exited' });
    await child.closed;
  });
});
