// Limits of a running process, changed from outside: what a machine that runs short of something does to it.

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** Takes every free descriptor away: whoever opens something gets EMFILE. What is open stays open. */
export function takeDescriptors(pid: number): void {
  leaveDescriptors(pid, 0);
}

/** Leaves so many free ones. */
export function leaveDescriptors(pid: number, count: number): void {
  // The descriptor that lists the descriptors is among them when they are our own, and closed by now.
  const open = new Set(readdirSync(`/proc/${pid}/fd`).filter((fd) => isOpen(pid, fd)).map(Number));
  let limit = 0;
  for (let left = count; open.has(limit) || left > 0; limit += 1) if (!open.has(limit)) left -= 1;
  setSoftLimit(pid, 'nofile', limit);
}

/** Of what `prlimit` knows. The hard limit stays, so that no right is needed to go back. */
export function setSoftLimit(pid: number, name: 'nofile' | 'nproc' | 'as', value: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${name}=${value}:`]);
}

/** Address space in use, in bytes. */
export function addressSpaceBytes(pid: number): number {
  const kibibytes = /^VmSize:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}

function isOpen(pid: number, fd: string): boolean {
  try {
    readlinkSync(`/proc/${pid}/fd/${fd}`);
    return true;
  } catch {
    return false;
  }
}
