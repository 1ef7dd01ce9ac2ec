// Whether a process or one of its descendants has done any work, according to `ps` on the machine that it runs on.

import type { Client } from '../client/index.js';

/** A process and its descendants, by pid. */
export type TreeActivity = ReadonlyMap<number, Activity>;

interface Activity {
  /** Processor time used so far; `ps` reports whole seconds. */
  readonly seconds: number;
  /** On a processor, or waiting for a disk, at this moment. */
  readonly isBusy: boolean;
}

const lookTimeoutMs = 5_000;

/** Undefined when it cannot be determined. */
export async function treeActivity(client: Client, pid: number): Promise<TreeActivity | undefined> {
  try {
    const { exitCode, stdout } = await client.exec(['ps', '-A', '-o', 'pid=,ppid=,state=,time='], { timeoutMs: lookTimeoutMs });
    return exitCode === 0 ? treeIn(stdout, pid) : undefined;
  } catch {
    return undefined; // no ps on that machine, or no server
  }
}

/** A process has started or ended, has used more processor time, or is busy now. Without an earlier look, only the last can be detected. */
export function hasWorked(before: TreeActivity | undefined, now: TreeActivity): boolean {
  if (before !== undefined && before.size !== now.size) return true;
  return [...now].some(([pid, { seconds, isBusy }]) => isBusy || (before !== undefined && before.get(pid)?.seconds !== seconds));
}

function treeIn(table: string, root: number): TreeActivity {
  const rows = table.split('\n').flatMap((line) => {
    const [pid, parent, state = '', time] = line.trim().split(/\s+/);
    return time === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), seconds: secondsIn(time), isBusy: /^[RDU]/.test(state) }];
  });
  const tree = new Map<number, Activity>();
  const add = (pid: number): void => {
    const row = rows.find((each) => each.pid === pid);
    if (row === undefined || tree.has(pid)) return;
    tree.set(pid, { seconds: row.seconds, isBusy: row.isBusy });
    for (const child of rows) if (child.parent === pid) add(child.pid);
  };
  add(root);
  return tree;
}

/** `[days-]hours:minutes:seconds`, with fractions on some systems. */
function secondsIn(time: string): number {
  const [clock = '', days = '0'] = time.split('-').toReversed();
  return clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) + Number(days) * 86_400;
}
