// Which processes belong to a tree, tested with hand-written tables, and how its group is signalled.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { ProcEntry } from '#src/process/end/proc-files.js';
import { ProcTable } from '#src/process/end/proc-table.js';
import { FoundTree } from '#src/process/end/process-tree.js';
import { TreeScan } from '#src/process/end/tree-scan.js';

/** Pids that no kernel assigns, in case a signal ever escapes from a test. */
const base = 5_000_000;
const leaderPid = base + 100;

/** By default an unrelated process: a child of init, alone in its group and session. */
function entry(
  number: number,
  facts: { parent?: number; group?: number; session?: number; born?: string; isZombie?: true } = {},
): ProcEntry {
  const { parent = 1 - base, group = number, session = number, born = 'then', isZombie = false } = facts;
  return { pid: base + number, ppid: base + parent, pgid: base + group, session: base + session, born, isZombie };
}

const leader = entry(100);
const child = entry(101, { parent: 100, group: 100, session: 100 });

/** A tree with leader 100, and a way to look at it in a table of these entries: '101' in the group, '(101)' outside it. */
function tree() {
  let table = new ProcTable([]);
  const found = new FoundTree(new TreeScan({ readTable: async () => table }), { pid: leaderPid, mark: undefined });
  const look = async (...entries: ProcEntry[]) => {
    table = new ProcTable(entries);
    const { members } = await found.look('new');
    return members.map(({ pid, isInGroup }) => (isInGroup ? `${pid - base}` : `(${pid - base})`)).toSorted();
  };
  return { found, look };
}

describe('a tree includes', () => {
  test('the leader and its children, and no other process', async () => {
    assert.deepEqual(await tree().look(entry(1), leader, child, entry(7)), ['100', '101']);
  });

  test('children of children, even if the table lists them before their parents', async () => {
    const grandchild = entry(102, { parent: 101 });
    const last = entry(103, { parent: 102 });
    assert.deepEqual(await tree().look(last, grandchild, child, leader), ['(102)', '(103)', '100', '101']);
  });

  test('a child that left the group and the session', async () => {
    assert.deepEqual(await tree().look(leader, entry(101, { parent: 100 })), ['(101)', '100']);
  });

  test('an orphan in the session, outside the group', async () => {
    assert.deepEqual(await tree().look(leader, entry(101, { session: 100 })), ['(101)', '100']);
  });

  test('an orphan in the group', async () => {
    assert.deepEqual(await tree().look(leader, entry(101, { group: 100 })), ['100', '101']);
  });

  test('an orphan in the group, where the platform reports no sessions', async () => {
    const orphan = { ...entry(101, { group: 100 }), session: undefined };
    assert.deepEqual(await tree().look(orphan, { ...entry(7), session: undefined }), ['101']);
  });

  test('the group and session of a leader that has ended', async () => {
    const { found, look } = tree();
    found.leaderReaped();
    assert.deepEqual(await look(entry(101, { group: 100, session: 100 }), entry(102, { session: 100 })), ['(102)', '101']);
  });

  test('no zombies, since they are dead', async () => {
    assert.deepEqual(await tree().look(entry(100, { isZombie: true }), child), ['101']);
  });
});

describe('a process seen in the tree', () => {
  const daemon = entry(101, { parent: 100, born: 'early' });
  const orphaned = entry(101, { born: 'early' });

  test('stays in it when its parent dies first', async () => {
    const { look } = tree();
    await look(leader, daemon);
    assert.deepEqual(await look(orphaned), ['(101)']);
  });

  test('stays in it for as long as it lives', async () => {
    const { look } = tree();
    await look(leader, daemon);
    await look(orphaned);
    assert.deepEqual(await look(orphaned), ['(101)']);
  });

  test('adds its later children to it', async () => {
    const { look } = tree();
    await look(leader, daemon);
    await look(orphaned);
    assert.deepEqual(await look(orphaned, entry(102, { parent: 101 })), ['(101)', '(102)']);
  });

  test('is not confused with another process that got its pid', async () => {
    const { look } = tree();
    await look(leader, daemon);
    assert.deepEqual(await look(entry(101, { born: 'late' })), []);
  });

  test('is forgotten once it is gone', async () => {
    const { look } = tree();
    await look(leader, daemon);
    await look(leader);
    assert.deepEqual(await look(leader, orphaned), ['100']);
  });

  test('is not a member when it was never seen and nothing marks it', async () => {
    assert.deepEqual(await tree().look(leader, orphaned), ['100']);
  });
});

describe('a new owner of the leader’s pid', () => {
  const owner = entry(100, { born: 'late' });
  const strangers = [owner, entry(300, { parent: 100, group: 100, session: 100, born: 'late' }), entry(301, { session: 100 })];

  test('does not belong to the tree, nor does its group or session', async () => {
    const { found, look } = tree();
    await look(leader);
    found.leaderReaped();
    assert.deepEqual(await look(...strangers), []);
  });

  test('does not remove members that were seen before', async () => {
    const { found, look } = tree();
    await look(leader, entry(101, { parent: 100 }));
    found.leaderReaped();
    assert.deepEqual(await look(...strangers, entry(101)), ['(101)']);
  });

  test('has its own group, which no member of the tree is in', async () => {
    const { found, look } = tree();
    await look(leader, child);
    found.leaderReaped();
    assert.deepEqual(await look(...strangers, child), ['(101)']);
  });

  test('cannot exist before the leader is reaped', async () => {
    assert.deepEqual(await tree().look(owner), ['100']);
  });
});

describe('a look', () => {
  test('after the leader was reaped does not reuse an earlier one, in which the leader still had its pid', async () => {
    const orphan = entry(101, { group: 100, session: 100 });
    const tables = [[leader, orphan], [orphan]].map((entries) => new ProcTable(entries));
    const scan = new TreeScan({ readTable: async () => tables.shift() ?? assert.fail('read again') });
    const found = new FoundTree(scan, { pid: leaderPid, mark: undefined });
    await found.look('ofThisTurn');
    found.leaderReaped();
    assert.deepEqual(await found.look('ofThisTurn'), { members: [{ pid: orphan.pid, isInGroup: true }], isCertain: true });
  });

  test('is shared by all trees that ask for a new one in the same tick, and by the others in the same turn of the event loop', async () => {
    let reads = 0;
    const scan = new TreeScan({ readTable: async () => new ProcTable(reads++ < 0 ? [] : [leader]) });
    const [one, other] = [leaderPid, leaderPid + 1].map((pid) => new FoundTree(scan, { pid, mark: undefined }));
    await Promise.all([one?.look('new'), other?.look('new')]);
    await other?.look('ofThisTurn');
    assert.equal(reads, 1);
    await other?.look('new');
    assert.equal(reads, 2);
  });
});

describe('a signal to the group', () => {
  test('is sent synchronously as long as the leader is unreaped', (t) => {
    const kill = t.mock.method(process, 'kill', () => true);
    void tree().found.signalGroup('SIGINT');
    assert.deepEqual(
      kill.mock.calls.map((call) => call.arguments),
      [[-leaderPid, 'SIGINT']],
    );
  });

  test('reaches each remaining process of it after the leader was reaped, and no other', async (t) => {
    const kill = t.mock.method(process, 'kill', () => true);
    const left = [entry(101, { group: 100 }), entry(102, { session: 100 }), entry(103, { group: 100 }), entry(7)];
    const scan = new TreeScan({ readTable: async () => new ProcTable(left) });
    const found = new FoundTree(scan, { pid: leaderPid, mark: undefined });
    found.leaderReaped();
    const isDelivered = await found.signalGroup('SIGINT');
    assert.deepEqual(
      [isDelivered, kill.mock.calls.map((call) => call.arguments)],
      [
        true,
        [
          [base + 101, 'SIGINT'],
          [base + 103, 'SIGINT'],
        ],
      ],
    );
  });

  test('is not delivered when the group is empty', async () => {
    const { found } = tree();
    const whileUnreaped = await found.signalGroup('SIGINT');
    found.leaderReaped();
    assert.deepEqual([whileUnreaped, await found.signalGroup('SIGINT')], [false, false]);
  });

  test('ends a real group', async () => {
    const started = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    const exit = once(started, 'exit');
    const { pid } = started;
    assert.ok(pid !== undefined);
    const isDelivered = await new FoundTree(new TreeScan(), { pid, mark: undefined }).signalGroup('SIGKILL');
    assert.deepEqual([isDelivered, await exit], [true, [null, 'SIGKILL']]);
  });

  test('that does not exist is an error and not ignored', async () => {
    await assert.rejects(tree().found.signalGroup('SIGNONE'), { code: 'ERR_UNKNOWN_SIGNAL' });
  });
});
