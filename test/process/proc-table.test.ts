// What is known of the machine's processes, and what is not.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { loadLibc } from '#src/process/linux/libc.js';
import { ProcTable } from '#src/process/proc-table.js';
import { errnoOf } from '#src/process/spawn-failure.js';

const libc = loadLibc();

/** The number of open files, in every Linux. */
const RLIMIT_NOFILE = 7;

/** Whatever opens something in `task` gets EMFILE. */
function withoutDescriptors(task: () => void): void {
  const limit = new BigUint64Array(2);
  libc?.getrlimit(RLIMIT_NOFILE, limit);
  libc?.setrlimit(RLIMIT_NOFILE, BigUint64Array.of(0n, limit[1] ?? 0n));
  try {
    task();
  } finally {
    libc?.setrlimit(RLIMIT_NOFILE, limit);
  }
}

test('a process that cannot be looked at is not taken for one that has gone', { skip: libc === undefined }, () => {
  const table = new ProcTable([]);
  let errno: string | undefined;
  withoutDescriptors(() => {
    try {
      table.lineageOf(process.pid);
    } catch (error) {
      errno = errnoOf(error);
    }
  });
  assert.equal(errno, 'EMFILE');
  assert.deepEqual([...table.vanished], []);
});

test(
  'a process that has gone before its lineage was asked for is remembered as such',
  { skip: !existsSync('/proc/self') },
  () => {
    const { pid } = spawnSync('true');
    const table = new ProcTable([]);
    for (const each of [process.pid, pid, pid]) table.lineageOf(each);
    assert.deepEqual([...table.vanished], [pid]);
  },
);
