// Looks at real processes from outside, as `ps` does.

import { readProcTable } from '#src/process/end/proc-table.js';

/** Identifies one process for good: on a busy machine a pid is reused within seconds. */
export interface KnownProcess {
  readonly pid: number;
  readonly born: string;
}

/** The processes that have these pids now. Omits those that are already gone. */
export async function identify(pids: readonly number[]): Promise<KnownProcess[]> {
  const { entries } = await readProcTable();
  return entries.filter(({ pid }) => pids.includes(pid)).map(({ pid, born }) => ({ pid, born }));
}

/** Pids of those that are alive: neither gone nor zombies. A plain pid is only safe for a look right after the process is reported gone. */
export async function living(processes: readonly (number | KnownProcess)[]): Promise<number[]> {
  const { entries } = await readProcTable();
  const isMeant = (pid: number, born: string) =>
    processes.some((each) => (typeof each === 'number' ? each === pid : each.pid === pid && each.born === born));
  return entries.filter(({ pid, born, isZombie }) => !isZombie && isMeant(pid, born)).map(({ pid }) => pid);
}
