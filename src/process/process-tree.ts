// Who descends from a leader, and how to signal them. A process belongs to the tree when it is marked as such
// or when its parent belongs to it; how marks are made is the backend's business.

import type { ProcessTree, TreeMember } from './child.js';
import { type ProcEntry, ProcTable, type ProcTableReader, visitLinuxEntries } from './proc-table.js';
import { errnoOf } from './spawn-failure.js';

/** Tells whether an entry is marked as belonging to the leader's tree, whatever its parent is now. */
export type Mark = (entry: ProcEntry, table: ProcTable) => boolean;

export class MarkedTree implements ProcessTree {
  readonly #pid: number;
  readonly #procs: ProcTableReader;
  readonly #isMarked: Mark;
  /** Members seen before, by pid and birth: they stay members when their parents die first. */
  readonly #known = new Map<number, string>();
  #isLeaderReaped = false;

  constructor(pid: number, procs: ProcTableReader, isMarked: Mark) {
    this.#pid = pid;
    this.#procs = procs;
    this.#isMarked = isMarked;
  }

  async signalGroup(signal: string): Promise<boolean> {
    // An unreaped leader, even a dead one, keeps its pid and so the group's name from being used again.
    if (!this.#isLeaderReaped) return signalPid(-this.#pid, signal);
    const remains = (await this.members()).filter((member) => member.isInGroup);
    return remains.filter(({ pid }) => signalPid(pid, signal)).length > 0;
  }

  async members(table: 'new' | 'ofThisTurn' = 'ofThisTurn'): Promise<TreeMember[]> {
    return this.membersIn(await (table === 'new' ? this.#procs.readNew() : this.#procs.read()));
  }

  membersIn(table: ProcTable): TreeMember[] {
    const isPidReused = this.#isLeaderReaped && table.has(this.#pid);
    const members = withDescendants(table, (entry) => this.#isSeed(entry, table, isPidReused));
    this.#known.clear();
    for (const { pid, born } of members) this.#known.set(pid, born);
    const living = members
      .filter((entry) => !entry.isZombie)
      .map(({ pid, pgid }) => ({ pid, isInGroup: pgid === this.#pid && !isPidReused }));
    return [...living, ...[...table.vanished].map((pid) => ({ pid, isInGroup: false, hasVanished: true }))];
  }

  chase(): void {
    if (process.platform !== 'linux') return; // without marks nobody can be judged alone
    visitLinuxEntries((entry) => {
      if (!entry.isZombie && this.#isMarked(entry, new ProcTable([entry]))) signalPid(entry.pid, 'SIGKILL');
    });
  }

  leaderReaped(): void {
    this.#isLeaderReaped = true;
    this.#procs.expire(); // in a table read before, the leader would look like a new owner of its own pid
  }

  #isSeed(entry: ProcEntry, table: ProcTable, isPidReused: boolean): boolean {
    if (this.#known.get(entry.pid) === entry.born) return true;
    if (this.#isMarked(entry, table)) return true;
    // Whoever carries the leader's pid as group or session got it from the leader, unless the pid has a new owner.
    return !isPidReused && (entry.pid === this.#pid || entry.pgid === this.#pid || entry.session === this.#pid);
  }
}

function withDescendants(table: ProcTable, isSeed: (entry: ProcEntry) => boolean): ProcEntry[] {
  const members = table.entries.filter(isSeed);
  const pids = new Set(members.map(({ pid }) => pid));
  // A parent may come after its child in the table, so look until a pass finds nothing new.
  for (let found = members.length; found > 0;) {
    const children = table.entries.filter((entry) => !pids.has(entry.pid) && pids.has(entry.ppid));
    for (const child of children) pids.add(child.pid);
    members.push(...children);
    found = children.length;
  }
  return members;
}

/** Sends signals to a process, or to a group when negative; false when there is nobody to receive them, or nobody we may signal. */
export function signalPid(pid: number, ...signals: (string | 0)[]): boolean {
  try {
    for (const signal of signals) process.kill(pid, signal);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ESRCH' || errno === 'EPERM') return false;
    throw error;
  }
}
