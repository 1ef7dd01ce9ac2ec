// Looking at real processes from outside, the way `ps` does.

import { readProcTable } from '#src/process/end/proc-table.js';

/** One process for all time: on a busy machine a pid has a new owner within seconds. */
export interface KnownProcess {
  readonly pid: number;
  readonly born: string;
}

/** Who has these pids now. Those that are gone already are left out. */
export async function identify(pids: readonly number[]): Promise<KnownProcess[]> {
  const { entries } = await readProcTable();
  return entries.filter(({ pid }) => pids.includes(pid)).map(({ pid, born }) => ({ pid, born }));
}

/** Pids among these that live: not gone, not zombies. A plain pid is for a look right after the process is said to be gone. */
export async function living(processes: readonly (number | KnownProcess)[]): Promise<number[]> {
  const { entries } = await readProcTable();
  const isMeant = (pid: number, born: string) =>
    processes.some((each) => (typeof each === 'number' ? each === pid : each.pid === pid && each.born === born));
  return entries.filter(({ pid, born, isZombie }) => !isZombie && isMeant(pid, born)).map(({ pid }) => pid);
}
