// The backends by themselves, where the contract cannot tell one from the other.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { systemClock } from '#src/base/clock.js';
import { connectInProcess } from '#src/index.js';
import { readProcTable } from '#src/process/proc-table.js';
import { createBackend } from '#src/process/spawn.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { noTerminal } from '../support/terminal.js';

const env = { PATH: process.env['PATH'] ?? '' };

describe('a backend', () => {
  guardAgainstLeaks();

  test('is the one that was asked for', { skip: noTerminal }, async () => {
    for (const name of ['linux', 'portable'] as const) {
      const backend = createBackend(name, systemClock);
      assert.equal(backend.name, name);
      await backend.close();
    }
  });

  test('without marks has its watchdog forget a group that has ended, and tells a new one of those that have not', async () => {
    await using client = connectInProcess({ backend: 'portable' });
    await client.run(['true'], { env });
    await using child = await client.start({ argv: ['sleep', '60'], env });
    const [first] = await watchdogs();
    assert.ok(first);
    process.kill(first.pid, 'SIGKILL');
    await eventually(async () => {
      const [second] = await watchdogs();
      assert.ok(second && second.pid !== first.pid);
      assert.equal(second.groups, String(child.pid));
    });
  });
});

/** Those of this program that live, with the groups they were started with. */
async function watchdogs(): Promise<{ pid: number; groups: string | undefined }[]> {
  const { entries } = await readProcTable();
  return entries
    .filter(({ ppid, isZombie }) => ppid === process.pid && !isZombie)
    .map(({ pid }) => ({ pid, words: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') }))
    .filter(({ words }) => words.includes('sluice-watchdog'))
    .map(({ pid, words }) => ({ pid, groups: words.at(-2) }));
}
