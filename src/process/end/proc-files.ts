// Reads what /proc shows about one process. Reads are synchronous, small and take about 10 µs each.

import { closeSync, openSync, readSync, readdirSync } from 'node:fs';
import { errnoOf } from '../start/spawn-failure.js';

export interface ProcEntry {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  /** Undefined where the platform does not report it. */
  readonly session: number | undefined;
  /** The start time in the platform's own format; together with the pid it identifies a process uniquely. */
  readonly born: string;
  /** All threads have ended. When only the first thread has, the kernel shows it as a zombie, but the process is alive. */
  readonly isZombie: boolean;
  /** Undefined where the platform does not report it. */
  readonly threads?: number;
}

/** Undefined when there is no such process. */
export function readLinuxEntry(pid: number): ProcEntry | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name is in parentheses and may itself contain parentheses and spaces.
  const [state, ppid, pgid, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const threads = Number(rest[13]); // field 20, num_threads
  const born = rest[15]; // field 22, starttime, in clock ticks since boot
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    session: Number(session),
    born: born ?? '',
    isZombie: state === 'X' || (state === 'Z' && threads <= 1),
    threads,
  };
}

/** The soft real-time limit, a mark that all descendants inherit (see linux/lineage.ts). Undefined when there is no such process. */
export function readLineage(pid: number): string | undefined {
  const limits = readProcFile(`/proc/${pid}/limits`);
  return limits === undefined ? undefined : (/^Max realtime timeout +(\d+) /m.exec(limits)?.[1] ?? 'unlimited');
}

/** Whether the kernel lists the children of a process. */
export function hasChildrenFiles(): boolean {
  try {
    return readProcFile(`/proc/self/task/${process.pid}/children`) !== undefined;
  } catch {
    return true; // most likely out of descriptors: later reads report that themselves
  }
}

/** Pids of the children that a thread has started or adopted. Empty when the thread has ended. */
export function childrenOfThread(pid: number, tid: number): number[] {
  const text = readProcFile(`/proc/${pid}/task/${tid}/children`) ?? '';
  const pids: number[] = [];
  let number = 0;
  // Parsed by hand: a server may list thousands of children often, and splitting would allocate a string for each.
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - zero;
    if (digit >= 0) number = number * 10 + digit;
    else {
      pids.push(number);
      number = 0;
    }
  }
  return pids;
}

/** The character code of "0"; that of the space after each number is lower. */
const zero = 48;

/**
 * The children of all threads. A list longer than one page may omit a live child while siblings are being reaped: it helps to find
 * children, but does not prove that there are no others.
 */
export function childrenOf({ pid, threads }: Pick<ProcEntry, 'pid' | 'threads'>): number[] {
  if (threads === 1) return childrenOfThread(pid, pid);
  let tids: string[];
  try {
    tids = readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
  return tids.flatMap((tid) => childrenOfThread(pid, Number(tid)));
}

/** A list of children can be long; everything else here is well under a page. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024);

/** The file's text, or undefined when its process has ended. Only a program's name may be non-ASCII, and it is never used. */
function readProcFile(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
  try {
    let text = '';
    for (;;) {
      const length = readSync(fd, buffer);
      if (length === 0) return text;
      text += buffer.toString('latin1', 0, length);
    }
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  } finally {
    closeSync(fd);
  }
}

function isGone(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'ENOENT' || errno === 'ESRCH' || errno === 'EACCES';
}
