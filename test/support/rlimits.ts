// Changes the limits of a running process from outside, to simulate a machine that runs short of something.

import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';

/** Takes every free descriptor away: opening anything fails with EMFILE. Open descriptors stay open. */
export function takeDescriptors(pid: number): void {
  leaveDescriptors(pid, 0);
}

export function giveDescriptors(pid: number): void {
  setSoftLimit(pid, { name: 'nofile', value: 1_024 });
}

/** Leaves `count` free descriptors. */
export function leaveDescriptors(pid: number, count: number): void {
  // For our own process, the list includes the descriptor that read the folder, which is closed by now.
  const open = new Set(
    readdirSync(`/proc/${pid}/fd`)
      .filter((fd) => isOpen(pid, fd))
      .map(Number),
  );
  let limit = 0;
  for (let left = count; open.has(limit) || left > 0; limit += 1) if (!open.has(limit)) left -= 1;
  setSoftLimit(pid, { name: 'nofile', value: limit });
}

/**
 * A limit that `prlimit` knows. The hard limit stays, so that going back needs no privilege. `as` is a command that runs others as the same
 * user.
 */
export function setSoftLimit(pid: number, { name, value, as = [] }: SoftLimit): void {
  const [command, ...args] = [...as, 'prlimit', '--pid', String(pid)];
  const hard = () => execFileSync(command, [...args, `--${name}`, '--output=HARD', '--noheadings'], { encoding: 'utf8' }).trim();
  execFileSync(command, [...args, `--${name}=${value === 'hard' ? hard() : value}:`]);
}

export interface SoftLimit {
  readonly name: 'nofile' | 'nproc';
  readonly value: number | 'hard';
  readonly as?: readonly string[];
}

function isOpen(pid: number, fd: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/${fd}`);
    return true;
  } catch {
    return false;
  }
}
