// Looking at real processes from outside, the way `ps` does.

import { readProcTable } from '#src/process/proc-table.js';

/** Pids among these that live: not gone, not zombies. */
export async function living(pids: readonly number[]): Promise<number[]> {
  const table = await readProcTable();
  return table.entries.filter(({ pid, isZombie }) => !isZombie && pids.includes(pid)).map(({ pid }) => pid);
}
