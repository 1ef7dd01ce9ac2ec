// Where there is no /proc, ps lists the processes. Tested on Linux, which has both.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import type { ProcEntry } from '#src/process/end/proc-files.js';
import { readProcTable } from '#src/process/end/proc-table.js';
import { withFs } from '../support/changed-fs.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

function withoutProc<T>(work: () => Promise<T>): Promise<T> {
  const { existsSync } = fs;
  return withFs({ existsSync: (path) => !String(path).startsWith('/proc/') && existsSync(path) }, work);
}

describe('the table from ps', () => {
  guardAgainstLeaks();

  test('has the same parents, groups and zombies as /proc, and no sessions', async () => {
    // The shell becomes a program that never reaps the child it inherits.
    const parent = spawn('sh', ['-c', 'true & exec sleep 60'], { detached: true, stdio: 'ignore' });
    const facts = ({ pid, ppid, pgid, isZombie }: ProcEntry) => ({ pid, ppid, pgid, isZombie });
    const family = async () =>
      (await readProcTable()).entries
        .filter(({ pid, ppid }) => [process.pid, parent.pid].includes(pid) || ppid === parent.pid)
        .toSorted((one, other) => one.pid - other.pid);
    await eventually(async () => assert.ok((await family()).some(({ isZombie }) => isZombie)));
    const [byProc, byPs] = [await family(), await withoutProc(family)];
    assert.equal(byProc.length, 3);
    assert.deepEqual(byPs.map(facts), byProc.map(facts));
    assert.ok(byPs.every(({ session, born }) => session === undefined && born !== ''));
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });
});
