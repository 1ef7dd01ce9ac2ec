// Which program writes a log, and whether it still lives. Calls a writer gone only when that is certain: a number of a process on another
// machine or in another container says nothing here.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface RunWriter {
  readonly pid: number;
  readonly host: string;
  /** The kernel's name for the time since it was started; undefined where there is no /proc, as are the members below. */
  readonly boot?: string | undefined;
  /** Where the pid counts: a container has its own. */
  readonly pidNamespace?: string | undefined;
  /** When the process was started, by the kernel's count: tells it from a later one with the same pid. */
  readonly birth?: string | undefined;
}

/** This program. */
export function thisWriter(): RunWriter {
  return { pid: process.pid, ...thisPlace(), birth: unlessUnreadable(() => birthOf(process.pid)) };
}

/** True when it is certain that the program has ended. */
export function isGone({ pid, host, boot, pidNamespace, birth }: RunWriter): boolean {
  const here = thisPlace();
  if (host !== here.host) return false;
  // No process survives its kernel.
  if (boot !== here.boot) return boot !== undefined && here.boot !== undefined;
  if (pidNamespace !== here.pidNamespace) return false;
  try {
    return birth === undefined ? !process.kill(pid, 0) : birthOf(pid) !== birth;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'ENOENT' || code === 'ESRCH';
  }
}

function thisPlace(): Pick<RunWriter, 'host' | 'boot' | 'pidNamespace'> {
  return {
    host: hostname(),
    boot: unlessUnreadable(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: unlessUnreadable(() => readlinkSync('/proc/self/ns/pid')),
  };
}

/** Undefined for a process of which only the exit status is left. Throws when there is no such process, and where there is no /proc. */
function birthOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name comes second, in parentheses, and may hold blanks and parentheses itself; the state is the third field, the birth the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** What cannot be read here is not known: macOS has no /proc, and a sandbox may hide parts of it. */
function unlessUnreadable(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
