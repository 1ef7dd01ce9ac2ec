// Trees found by scanning the whole machine: what a process that ends during the scan means for them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ProcEntry, readLinuxEntry } from '#src/process/end/proc-files.js';
import { ProcTable } from '#src/process/end/proc-table.js';
import { type Marks, TreeScan } from '#src/process/end/tree-scan.js';

/** Pids that no kernel assigns: such a process counts as ended when its mark is read. */
const base = 5_000_000;

const entry = (number: number, ppid: number): ProcEntry => {
  const pid = base + number;
  return { pid, ppid, pgid: pid, session: pid, born: number < 10 ? 'early' : 'late', isZombie: false };
};

const marks: Marks = { prefix: '123456789', isTooOld: ({ born }) => born === 'early', mayCarry: () => true };

async function isCertain(entries: readonly ProcEntry[], hadMembers: boolean): Promise<boolean> {
  const readTable = async (seen: (entry: ProcEntry) => void = () => {}) => {
    entries.forEach(seen);
    return new ProcTable(entries);
  };
  const known = new Map(hadMembers ? [[base + 99, 'late']] : []);
  const kin = { pid: base + 100, mark: '12345678900000001', isLeaderReaped: true, known };
  const found = await new TreeScan({ marks, readTable }).find(kin, 'new');
  assert.deepEqual(found.members, []);
  return found.isCertain;
}

describe('a process that ends during the scan', { skip: readLinuxEntry(process.pid) === undefined }, () => {
  test('is unrelated when its parent is alive and unrelated', async () => {
    const stranger = entry(1, 1);
    assert.equal(await isCertain([stranger, entry(20, stranger.pid)], true), true);
  });

  test('makes the look at a tree with members uncertain when its parent has ended too', async () => {
    const entries = [entry(21, base + 20)];
    assert.deepEqual([await isCertain(entries, true), await isCertain(entries, false)], [false, true]);
  });

  test('makes the look at a tree with members uncertain when its parent is one that adopts orphans', async () => {
    const [self, parent] = [readLinuxEntry(process.pid), readLinuxEntry(process.ppid)].map(
      (each) => each && { ...each, born: 'early' },
    );
    assert.ok(self && parent);
    const entries = [self, parent, entry(20, parent.pid)];
    assert.deepEqual([await isCertain(entries, true), await isCertain(entries, false)], [false, true]);
  });
});
