// What /proc reports about a process, as an outsider sees it: for tests, long runs and the benchmark. Linux only.

import { readFileSync, readdirSync } from 'node:fs';
import { type ProcEntry, childrenOf as listedChildren, readLinuxEntry } from '#src/process/end/proc-files.js';

/** The unit in which the kernel reports times to programs, on every machine that Node runs on. */
const ticksPerSecond = 100;

/** Resident bytes now, the anonymous part of them, and the peak. */
export function memoryOf(pid: number | undefined): { readonly now: number; readonly own: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytesOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { now: bytesOf('VmRSS'), own: bytesOf('RssAnon'), peak: bytesOf('VmHWM') };
}

export function descriptorCount(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function threadCount(pid: number): number {
  return readLinuxEntry(pid)?.threads ?? 0;
}

/** Direct children as the kernel lists them: cheap, but it may omit one while others are being reaped. */
export function childPids(pid: number): number[] {
  return listedChildren({ pid });
}

/** Direct children, zombies included, found among all processes. */
export function childrenOf(pid: number | undefined): ProcEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d/.test(name))
    .map((name) => readLinuxEntry(Number(name)))
    .filter((entry) => entry !== undefined)
    .filter(({ ppid }) => ppid === pid);
}

/** Child processes that are Sluice watchdogs. */
export function watchdogsOf(pid: number | undefined): number[] {
  return childrenOf(pid)
    .filter(({ isZombie }) => !isZombie)
    .map((child) => child.pid)
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, 'latin1').includes('sluice-watchdog'));
}

/** Seconds of processor time: its own; with `family` also that of its children, both ended and living. */
export function cpuSecondsOf(pid: number, scope: 'own' | 'family'): number {
  const { own, all } = ticksOf(pid);
  if (scope === 'own') return own / ticksPerSecond;
  return childPids(pid).reduce((sum, child) => sum + ticksOf(child).all, all) / ticksPerSecond;
}

function ticksOf(pid: number): { readonly own: number; readonly all: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before it may contain anything
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15).map(Number);
  return { own: user + system, all: user + system + childrenUser + childrenSystem };
}
