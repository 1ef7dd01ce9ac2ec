// Finds a tree by following the kernel's lists of children down from its leader and from its orphans.
// The cost depends on the size of the tree, not on what else the machine runs.

import { existsSync } from 'node:fs';
import { type ProcEntry, childrenOf, readLinuxEntry } from '../end/proc-files.js';
import { type Found, type Freshness, type Kin, type TreeFinder, signalPid } from '../end/process-tree.js';
import type { Slices } from '../end/slices.js';
import type { OrphanLook, Orphans } from './orphans.js';

/** Longest that a chase may block the event loop, in milliseconds: enough to read a short list hundreds of times. */
const chaseMs = 5;

type Adopted = Pick<Orphans, 'look' | 'list' | 'markOf' | 'expire'>;

export class TreeWalk implements TreeFinder {
  readonly #orphans: Adopted;
  readonly #slices: Pick<Slices, 'run'>;

  constructor(orphans: Adopted, slices: Pick<Slices, 'run'>) {
    this.#orphans = orphans;
    this.#slices = slices;
  }

  async find(kin: Kin, freshness: Freshness): Promise<Found> {
    const orphans = await this.#orphans.look(freshness);
    return this.#slices.run(walk(kin, orphans));
  }

  chase({ mark }: Kin): void {
    const seen = new Set<number>();
    for (const endsAt = performance.now() + chaseMs; performance.now() < endsAt;) {
      const unseen = this.#orphans.list().filter((pid) => !seen.has(pid));
      if (unseen.length === 0) return;
      for (const pid of unseen) {
        seen.add(pid);
        if (this.#orphans.markOf(pid) === mark) signalPid(pid, 'SIGKILL');
      }
    }
  }

  expire(): void {
    this.#orphans.expire();
  }

  isAnyLeft(): boolean {
    try {
      return this.#orphans
        .list()
        .some((pid) => this.#orphans.markOf(pid) !== undefined && readLinuxEntry(pid)?.isZombie === false);
    } catch {
      return true; // out of descriptors
    }
  }
}

function* walk(kin: Kin, orphans: OrphanLook): Generator<void, Found> {
  const isPidReused = kin.isLeaderReaped && exists(kin.pid);
  const members: ProcEntry[] = [];
  const queue = seedsOf(kin, orphans, isPidReused);
  const queued = new Set(queue);
  let isCertain = orphans.isCertain;
  for (const pid of queue) {
    const entry = readLinuxEntry(pid);
    // A process that has died since the look at the orphans may have left children that are not among them.
    if (entry === undefined || entry.isZombie) isCertain = false;
    else {
      members.push(entry);
      const children = childrenOf(entry).filter((child) => !queued.has(child));
      queue.push(...children);
      for (const child of children) queued.add(child);
    }
    yield;
  }
  return { members, isCertain, isPidReused };
}

/** Members that are recognised directly; all others descend from them. */
function seedsOf(kin: Kin, { marked, unmarked }: OrphanLook, isPidReused: boolean): number[] {
  const seeds = new Set(kin.mark === undefined ? [] : marked.get(kin.mark));
  if (!kin.isLeaderReaped) seeds.add(kin.pid);
  for (const [pid, born] of kin.known) if (!seeds.has(pid) && exists(pid) && readLinuxEntry(pid)?.born === born) seeds.add(pid);
  // Only descendants of the leader can be in its group or session.
  const isRelated = ({ pgid, session }: ProcEntry) => pgid === kin.pid || session === kin.pid;
  if (!isPidReused) for (const entry of unmarked) if (isRelated(entry)) seeds.add(entry.pid);
  return [...seeds];
}

/** Costs a tenth of a failed read of the process's entry. */
function exists(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
