// Checks the kernel's limits: processes and memory of the cgroup, descriptors and processes of the user.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Finding, ReadText } from './finding.js';

/** One parallel build can use up room for fewer processes than this. */
const fewProcesses = 256;

/** The tightest limits of this program's cgroup and its ancestors. */
export function cgroup(read: ReadText): Finding {
  const memberships = read('/proc/self/cgroup');
  if (memberships === undefined) return { state: 'ok', found: 'none shown in /proc' };
  if (memberships === '') return { state: 'ok', found: 'none' };
  const cgroups = { memberships, mounts: read('/proc/self/mountinfo') ?? '' };
  const pids = place('pids', cgroups);
  const memory = place('memory', cgroups);
  const counts = pids.folders.flatMap((folder) => countOf(folder, read)).toSorted((one, other) => leftOf(one) - leftOf(other))[0];
  const memoryFile = memory.version === 2 ? 'memory.max' : 'memory.limit_in_bytes';
  const memoryBytes = Math.min(...memory.folders.map((folder) => limitIn(read(path.join(folder, memoryFile)))));
  const processText = counts === undefined ? `${noLimit(pids)} on processes` : `${counts.used} of ${counts.max} processes in use`;
  const memoryText =
    memoryBytes === Infinity ? `${noLimit(memory)} on memory` : `${Math.round(memoryBytes / 1024 ** 2)} MiB of memory`;
  const found = `v${pids.version}: ${processText}, ${memoryText}`;
  if (counts === undefined || leftOf(counts) >= fewProcesses) return { state: 'ok', found };
  return {
    state: 'warning',
    found: `${found}; once they are used up, nothing starts (EAGAIN)`,
    remedy: 'raise pids.max: --pids-limit for a container, TasksMax= for a systemd unit',
  };
}

interface Place {
  readonly version: 1 | 2;
  /** From the innermost outwards, as far as they are visible. */
  readonly folders: readonly string[];
}

/** Without a mount, the limit is not known. */
function noLimit({ folders }: Place): string {
  return folders.length === 0 ? 'unknown limit' : 'no limit';
}

/** Where a controller keeps its files for this program: in its own hierarchy, or in the one that all controllers share. */
function place(controller: string, { memberships, mounts }: { readonly memberships: string; readonly mounts: string }): Place {
  const own = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(memberships)?.[1];
  const version = own === undefined ? 2 : 1;
  const cgroupPath = own ?? /^0::(.*)$/m.exec(memberships)?.[1];
  const options = version === 2 ? '' : ` \\S+ (?:\\S*,)?${controller}(?:,|$)`;
  // Fields 4 and 5 are the mounted root and the mount point; the type follows a lone dash: proc(5).
  const mount = new RegExp(`^\\d+ \\d+ \\S+ (\\S+) (\\S+) .* - cgroup${version === 2 ? '2' : ''}(?= )${options}`, 'm').exec(
    mounts,
  );
  const [, root, top] = mount ?? [];
  if (cgroupPath === undefined || root === undefined || top === undefined) return { version, folders: [] };
  const below = path.posix.relative(root, cgroupPath);
  // In a container the path may be the one seen from outside; the mounted cgroup is the container's own.
  return { version, folders: below.startsWith('..') ? [top] : outwards(top, below) };
}

function outwards(top: string, below: string): string[] {
  const steps = below.split('/').filter((step) => step !== '');
  return [...steps.keys(), steps.length].map((depth) => path.posix.join(top, ...steps.slice(0, depth))).toReversed();
}

interface Count {
  readonly used: number;
  readonly max: number;
}

function leftOf({ used, max }: Count): number {
  return max - used;
}

function countOf(folder: string, read: ReadText): Count[] {
  const max = limitIn(read(path.join(folder, 'pids.max')));
  const used = Number(read(path.join(folder, 'pids.current')) ?? Number.NaN);
  return max === Infinity || Number.isNaN(used) ? [] : [{ used, max }];
}

/** Version 1 has no "max": without a limit it reports the largest number of pages, in bytes. */
const v1Unlimited = 2 ** 62;

function limitIn(text: string | undefined): number {
  const limit = text === undefined || text.trim() === 'max' ? Infinity : Number(text);
  return limit >= v1Unlimited ? Infinity : limit;
}

/** Infinity where there is no limit. */
export interface OwnLimits {
  readonly openFiles: number;
  readonly processes: number;
}

/** Longest that a shell may take to print its limits. */
const shellMs = 5_000;

/** The option is -u in most shells and -p in some, and the wrong one ends the shell, hence the subshell. */
const limitsScript = 'ulimit -n; (ulimit -u) 2>/dev/null || ulimit -p';

export async function ownLimits(read: ReadText): Promise<OwnLimits> {
  const limits = read('/proc/self/limits');
  if (limits !== undefined) {
    const soft = (name: string) => numberOf(new RegExp(`^${name} +(\\S+)`, 'm').exec(limits)?.[1]);
    return { openFiles: soft('Max open files'), processes: soft('Max processes') };
  }
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', limitsScript], {
    timeout: shellMs,
    killSignal: 'SIGKILL',
  });
  const lines = stdout.split('\n');
  return { openFiles: numberOf(lines[0]), processes: numberOf(lines[1]) };
}

function numberOf(text: string | undefined): number {
  if (text === 'unlimited') return Infinity;
  if (text === undefined || !/^\d+$/.test(text)) throw new Error(`expected a limit from the system, got "${text ?? ''}"`);
  return Number(text);
}

/** Three pipes, or two ends of a terminal, and one more while starting. */
const descriptorsPerProcess = 4;
const fewOpenFiles = 1024;

export function openFiles({ openFiles: limit }: OwnLimits): Finding {
  if (limit === Infinity) return { state: 'ok', found: 'no limit' };
  const found = `${limit}, for about ${Math.floor(limit / descriptorsPerProcess)} processes at a time`;
  if (limit >= fewOpenFiles) return { state: 'ok', found };
  const where = 'LimitNOFILE= for a systemd unit, --ulimit nofile= for a container';
  return { state: 'warning', found, remedy: `ulimit -n 4096, before Sluice starts; where that is refused: ${where}` };
}

export function processes({ processes: limit }: OwnLimits): Finding {
  if (limit === Infinity) return { state: 'ok', found: 'no limit' };
  const found = `${limit} for this user, threads included`;
  if (limit >= fewProcesses) return { state: 'ok', found };
  const where = 'LimitNPROC= for a systemd unit, --ulimit nproc= for a container';
  return { state: 'warning', found, remedy: `ulimit -u 4096, before Sluice starts; where that is refused: ${where}` };
}
