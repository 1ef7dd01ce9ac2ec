// What a process has used, from /proc: processor time and memory. Linux only.

import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Seconds of processor time: its own, and with `reaped` that of its ended children and of the living ones. */
export function cpuSeconds(pid, scope) {
  const own = timesOf(pid);
  if (scope === 'own') return own.own;
  return childrenOf(pid).reduce((sum, child) => sum + timesOf(child).all, own.all);
}

function timesOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before it may contain anything
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map((ticks) => Number(ticks) / ticksPerSecond);
  return { own: user + system, all: user + system + childrenUser + childrenSystem };
}

function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean);
}

/** Bytes in memory now, and the most there ever were. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytesOf = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)[1]) * 1024;
  return { now: bytesOf('VmRSS'), peak: bytesOf('VmHWM') };
}
