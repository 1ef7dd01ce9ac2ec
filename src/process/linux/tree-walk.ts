// Finds a tree by following it: from its leader, and from what has lost its parents, down the kernel's lists of children.
// The cost is that of the tree, whatever else the machine runs.

import { existsSync } from 'node:fs';
import { type ProcEntry, childrenOf, readLinuxEntry } from '../end/proc-files.js';
import { type Found, type Freshness, type Kin, type TreeFinder, signalPid } from '../end/process-tree.js';
import type { Slices } from '../end/slices.js';
import type { OrphanLook, Orphans } from './orphans.js';

/** Longest that a chase keeps the event loop, in milliseconds: hundreds of looks at a short list. */
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
    // What has died since the orphans were looked at may have left children that are not among them.
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

/** Members that are known as such by themselves; the others descend from them. */
function seedsOf(kin: Kin, { marked, unmarked }: OrphanLook, isPidReused: boolean): number[] {
  const seeds = new Set(kin.mark === undefined ? [] : marked.get(kin.mark));
  if (!kin.isLeaderReaped) seeds.add(kin.pid);
  for (const [pid, born] of kin.known) if (!seeds.has(pid) && exists(pid) && readLinuxEntry(pid)?.born === born) seeds.add(pid);
  // A process in the leader's group or session got there through the leader.
  const isRelated = ({ pgid, session }: ProcEntry) => pgid === kin.pid || session === kin.pid;
  if (!isPidReused) for (const entry of unmarked) if (isRelated(entry)) seeds.add(entry.pid);
  return [...seeds];
}

/** A tenth of what it costs to fail to read about a process. */
function exists(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
