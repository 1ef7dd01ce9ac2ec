// A walk down a tree whose members start and end between its steps.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import type { OrphanLook } from '#src/process/linux/orphans.js';
import { TreeWalk } from '#src/process/linux/tree-walk.js';
import { hasChildrenFiles } from '#src/process/end/proc-files.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const noFiles = process.platform === 'linux' && hasChildrenFiles() ? false : 'the kernel lists no children';

describe('a walk down a tree', { skip: noFiles }, () => {
  guardAgainstLeaks();

  const started: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of started.splice(0)) await end(child);
  });

  /** Starts a shell with a child, and returns the pids of both. */
  async function family(): Promise<{ readonly shell: ChildProcess; readonly pids: readonly [number, number] }> {
    const shell = spawn('sh', ['-c', 'sleep 600 & echo $!; read -r _; kill $!; wait'], { stdio: ['pipe', 'pipe', 'ignore'] });
    started.push(shell);
    const [line] = (await once(shell.stdout ?? assert.fail('no stdout'), 'data')) as [Buffer];
    return { shell, pids: [shell.pid ?? 0, Number(line)] };
  }

  test('finds the leader and its children, and is certain', async () => {
    const { pids } = await family();
    const { members, isCertain } = await walk(pids[0]);
    assert.deepEqual([members.map(({ pid }) => pid), isCertain], [pids, true]);
  });

  test('is not certain when a member died before it was reached: its children may have another parent now', async () => {
    const { shell, pids } = await family();
    const marked = new Map([['mark', pids]]);
    const { members, isCertain } = await walk(0, { marked, unmarked: [], isCertain: true }, async () => end(shell));
    assert.deepEqual([members.map(({ pid }) => pid), isCertain], [[pids[0]], false]);
  });

  test('is only as certain as the look at orphans that it begins with', async () => {
    const { pids } = await family();
    const { isCertain } = await walk(pids[0], { ...noOrphans, isCertain: false });
    assert.equal(isCertain, false);
  });
});

const noOrphans: OrphanLook = { marked: new Map(), unmarked: [], isCertain: true };

/** Walks from a leader, or without one from the marked orphans. Calls `between` after each process. */
async function walk(leader: number, orphans = noOrphans, between = async () => {}) {
  const run = async <T>(work: Iterator<void, T>): Promise<T> => {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      await between();
    }
  };
  const adopted = { look: async () => orphans, list: () => [], markOf: () => undefined, expire: () => {} };
  const kin = { pid: leader, mark: 'mark', isLeaderReaped: leader === 0, known: new Map<number, string>() };
  return new TreeWalk(adopted, { run }).find(kin, 'new');
}

/** Makes the shell end its child and then exit. */
async function end(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null) return;
  shell.stdin?.end('\n');
  await once(shell, 'exit');
}
