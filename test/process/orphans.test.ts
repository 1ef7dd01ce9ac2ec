// A look at adopted children, with events arranged between its steps.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import { Orphans } from '#src/process/linux/orphans.js';
import { hasChildrenFiles, readLinuxEntry } from '#src/process/end/proc-files.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const noFiles = process.platform === 'linux' && hasChildrenFiles() ? false : 'the kernel lists no children';

describe('a look at adopted children', { skip: noFiles }, () => {
  guardAgainstLeaks();

  const sleepers: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of sleepers.splice(0)) await end(child);
  });

  async function sleeper(): Promise<ChildProcess> {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    sleepers.push(child);
    await once(child, 'spawn');
    return child;
  }

  test('lists them again when one died before it was checked: its own children were adopted after the list was read', async () => {
    const first = [await sleeper(), await sleeper()];
    let left: ChildProcess | undefined;
    const look = await lookWith(async (step) => {
      if (step > 0) return;
      for (const child of first) await end(child); // one of them is checked next
      left = await sleeper(); // stands for an orphan that it left
    });
    const found = look.unmarked.some(({ pid }) => pid === left?.pid);
    assert.deepEqual([found, look.isCertain], [true, true]);
  });

  test('is not certain when that keeps happening', async () => {
    const children = [await sleeper(), await sleeper()];
    const look = await lookWith(async () => {
      for (const child of children.splice(0)) await end(child);
      children.push(await sleeper(), await sleeper());
    });
    assert.equal(look.isCertain, false);
  });
});

/** Calls `between` after each process that was checked. */
async function lookWith(between: (step: number) => Promise<void>) {
  const run = async <T>(work: Iterator<void, T>): Promise<T> => {
    for (let step = 0; ; step += 1) {
      const { done, value } = work.next();
      if (done === true) return value;
      await between(step);
    }
  };
  const orphans = new Orphans({
    adopts: true,
    prefix: 'no mark begins like this',
    isStarted: () => false,
    sessionOf: () => 0,
    isTooOld: () => false,
    slices: { run },
  });
  return orphans.look('new');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.kill('SIGKILL')) await once(child, 'exit');
  await eventually(() => assert.equal(readLinuxEntry(child.pid ?? 0), undefined));
}
