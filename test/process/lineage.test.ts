// The mark that finds descendants: whom it is looked for in.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { uptime } from 'node:os';
import { test } from 'node:test';
import { loadLibc } from '#src/process/linux/libc.js';
import { Lineage } from '#src/process/linux/lineage.js';
import { ProcTable } from '#src/process/proc-table.js';

const libc = loadLibc();

test('whoever was there before the process was started is not asked for its mark', { skip: libc === undefined }, (t) => {
  const lineage = libc && Lineage.create(libc);
  assert.ok(lineage);
  const [bootedFor, now] = [uptime(), performance.now()];
  t.mock.method(performance, 'now', () => now + 60_000);
  const { isMarked } = lineage.marked(() => {});
  const { pid } = spawnSync('true'); // gone, which the table notices when it is asked for it
  const asks = (secondsLater: number) => {
    const table = new ProcTable([]);
    const born = String(Math.floor((bootedFor + secondsLater) * 100));
    assert.equal(isMarked({ pid, ppid: 1, pgid: pid, session: pid, born, isZombie: false }, table), false);
    return table.vanished.has(pid);
  };
  assert.deepEqual([-60, 0, 58, 60, 61].map(asks), [false, false, false, true, true]);
});
