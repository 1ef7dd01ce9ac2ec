// Which process writes a log, and whether it is still alive. Calls a writer gone only when that is certain: a pid from another machine or
// another container means nothing here.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface RunWriter {
  readonly pid: number;
  readonly host: string;
  /** The kernel's boot id; undefined where there is no /proc, like the members below. */
  readonly boot?: string | undefined;
  /** The namespace that the pid belongs to: a container has its own. */
  readonly pidNamespace?: string | undefined;
  /** When the process was started, in the kernel's clock ticks: distinguishes it from a later process with the same pid. */
  readonly birth?: string | undefined;
}

/** This process. */
export function thisWriter(): RunWriter {
  return { pid: process.pid, ...thisPlace(), birth: unlessUnreadable(() => birthOf(process.pid)) };
}

/** True when it is certain that the process has ended. */
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

/** Undefined for a zombie. Throws when there is no such process, and where there is no /proc. */
function birthOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name is the second field, in parentheses, and may itself contain blanks and parentheses; the state is the third field, the start
  // time the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** Undefined if reading fails: macOS has no /proc, and a sandbox may hide parts of it. */
function unlessUnreadable(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
