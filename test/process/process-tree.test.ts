// Who belongs to a tree, judged by tables written by hand, and how its group is signalled.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { type ProcEntry, ProcTable, ProcTableReader } from '#src/process/proc-table.js';
import { type Mark, MarkedTree } from '#src/process/process-tree.js';

/** Pids that no kernel gives out, in case a signal ever got out of a test. */
const base = 5_000_000;
const leaderPid = base + 100;

/** Somebody else's process, unless something says otherwise: a child of init, alone in its group and session. */
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
function tree(isMarked: Mark = () => false) {
  const marked = new MarkedTree(leaderPid, new ProcTableReader(), isMarked);
  const look = (...entries: ProcEntry[]) =>
    marked.membersIn(new ProcTable(entries)).map(({ pid, isInGroup }) => (isInGroup ? `${pid - base}` : `(${pid - base})`));
  return { marked, look };
}

describe('who belongs to a tree', () => {
  test('the leader and its children, and nobody else', () => {
    assert.deepEqual(tree().look(entry(1), leader, child, entry(7)), ['100', '101']);
  });

  test('children of children, although a table may name them before their parents', () => {
    const grandchild = entry(102, { parent: 101 });
    const last = entry(103, { parent: 102 });
    assert.deepEqual(tree().look(last, grandchild, child, leader).toSorted(), ['(102)', '(103)', '100', '101']);
  });

  test('a child that left the group and the session', () => {
    assert.deepEqual(tree().look(leader, entry(101, { parent: 100 })), ['100', '(101)']);
  });

  test('an orphan in the session, outside the group', () => {
    assert.deepEqual(tree().look(leader, entry(101, { session: 100 })), ['100', '(101)']);
  });

  test('an orphan in the group', () => {
    assert.deepEqual(tree().look(leader, entry(101, { group: 100 })), ['100', '101']);
  });

  test('an orphan in the group, where the platform tells no sessions', () => {
    const orphan = { ...entry(101, { group: 100 }), session: undefined };
    assert.deepEqual(tree().look(orphan, { ...entry(7), session: undefined }), ['101']);
  });

  test('a marked orphan, and what descends from it', () => {
    const { look } = tree(({ pid }) => pid === base + 200);
    assert.deepEqual(look(entry(201, { parent: 200 }), entry(200), entry(7)).toSorted(), ['(200)', '(201)']);
  });

  test('the group and session of a leader that has ended', () => {
    const { marked, look } = tree();
    marked.leaderReaped();
    assert.deepEqual(look(entry(101, { group: 100, session: 100 }), entry(102, { session: 100 })), ['101', '(102)']);
  });

  test('no zombies, since they are dead', () => {
    assert.deepEqual(tree().look(entry(100, { isZombie: true }), child), ['101']);
  });
});

describe('a process seen in the tree', () => {
  const daemon = entry(101, { parent: 100, born: 'early' });
  const orphaned = entry(101, { born: 'early' });

  test('stays in it when its parent dies first', () => {
    const { look } = tree();
    look(leader, daemon);
    assert.deepEqual(look(orphaned), ['(101)']);
  });

  test('stays in it for as long as it lives', () => {
    const { look } = tree();
    look(leader, daemon);
    look(orphaned);
    assert.deepEqual(look(orphaned), ['(101)']);
  });

  test('brings its later children into it', () => {
    const { look } = tree();
    look(leader, daemon);
    look(orphaned);
    assert.deepEqual(look(orphaned, entry(102, { parent: 101 })), ['(101)', '(102)']);
  });

  test('is not mistaken for another one that got its pid', () => {
    const { look } = tree();
    look(leader, daemon);
    assert.deepEqual(look(entry(101, { born: 'late' })), []);
  });

  test('is forgotten once it is gone', () => {
    const { look } = tree();
    look(leader, daemon);
    look(leader);
    assert.deepEqual(look(leader, orphaned), ['100']);
  });

  test('is not a member when it was never seen and nothing marks it', () => {
    assert.deepEqual(tree().look(leader, orphaned), ['100']);
  });
});

describe('a new owner of the leader’s pid', () => {
  const owner = entry(100, { born: 'late' });
  const strangers = [owner, entry(300, { parent: 100, group: 100, session: 100, born: 'late' }), entry(301, { session: 100 })];

  test('does not belong to the tree, nor does its group or session', () => {
    const { marked, look } = tree();
    look(leader);
    marked.leaderReaped();
    assert.deepEqual(look(...strangers), []);
  });

  test('does not take away what was seen in the tree before', () => {
    const { marked, look } = tree();
    look(leader, entry(101, { parent: 100 }));
    marked.leaderReaped();
    assert.deepEqual(look(...strangers, entry(101)), ['(101)']);
  });

  test('has a group of its own, and nobody of the tree is in that', () => {
    const { marked, look } = tree();
    look(leader, child);
    marked.leaderReaped();
    assert.deepEqual(look(...strangers, child), ['(101)']);
  });

  test('does not take away what is marked', () => {
    const { marked, look } = tree(({ pid }) => pid === base + 200);
    marked.leaderReaped();
    assert.deepEqual(look(...strangers, entry(200)), ['(200)']);
  });

  test('cannot exist before the leader was reaped', () => {
    assert.deepEqual(tree().look(owner), ['100']);
  });
});

describe('a look', () => {
  test('after the reaping does not use what was read before it, when the leader still had its pid', async () => {
    const orphan = entry(101, { group: 100, session: 100 });
    const procs = new ScriptedReader([leader, orphan], [orphan]);
    const marked = new MarkedTree(leaderPid, procs, () => false);
    await marked.members();
    marked.leaderReaped();
    assert.deepEqual(await marked.members(), [{ pid: orphan.pid, isInGroup: true }]);
  });
});

describe('a signal to the group', () => {
  test('reaches it before the call returns, as long as the leader was not reaped', (t) => {
    const kill = t.mock.method(process, 'kill', () => true);
    void tree().marked.signalGroup('SIGINT');
    assert.deepEqual(
      kill.mock.calls.map((call) => call.arguments),
      [[-leaderPid, 'SIGINT']],
    );
  });

  test('reaches each process that is left of it when the leader was reaped, and nobody else', async (t) => {
    const kill = t.mock.method(process, 'kill', () => true);
    const left = [entry(101, { group: 100 }), entry(102, { session: 100 }), entry(103, { group: 100 }), entry(7)];
    const marked = new MarkedTree(leaderPid, new ScriptedReader(left), () => false);
    marked.leaderReaped();
    const isDelivered = await marked.signalGroup('SIGINT');
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

  test('is not delivered when nobody is left', async () => {
    const { marked } = tree();
    const whileUnreaped = await marked.signalGroup('SIGINT');
    marked.leaderReaped();
    assert.deepEqual([whileUnreaped, await marked.signalGroup('SIGINT')], [false, false]);
  });

  test('ends a real group', async () => {
    const started = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    const exit = once(started, 'exit');
    const { pid } = started;
    assert.ok(pid !== undefined);
    const isDelivered = await new MarkedTree(pid, new ProcTableReader(), () => false).signalGroup('SIGKILL');
    assert.deepEqual([isDelivered, await exit], [true, [null, 'SIGKILL']]);
  });

  test('that does not exist is an error, not silence', async () => {
    await assert.rejects(tree().marked.signalGroup('SIGNONE'), { code: 'ERR_UNKNOWN_SIGNAL' });
  });
});

/** Gives the first table until it is told that it has expired, then the next. */
class ScriptedReader extends ProcTableReader {
  readonly #tables: ProcEntry[][];

  constructor(...tables: ProcEntry[][]) {
    super();
    this.#tables = tables;
  }

  override async read(): Promise<ProcTable> {
    return new ProcTable(this.#tables[0] ?? []);
  }

  override expire(): void {
    if (this.#tables.length > 1) this.#tables.shift();
  }
}

test('a new table knows who was born in this turn of the event loop; whoever asks in one step shares it', async () => {
  const reader = new ProcTableReader();
  await reader.read();
  const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
  try {
    const pid = sleeper.pid ?? assert.fail('not started');
    assert.equal((await reader.read()).has(pid), false);
    const [one, other] = await Promise.all([reader.readNew(), reader.readNew()]);
    assert.deepEqual([one.has(pid), one === other], [true, true]);
  } finally {
    sleeper.kill('SIGKILL');
    await once(sleeper, 'exit');
  }
});
