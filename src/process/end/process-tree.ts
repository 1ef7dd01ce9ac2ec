// A leader with all its descendants, and how to signal them. A finder locates the descendants: by following the tree
// (linux/tree-walk.ts) or, where that is not possible, by scanning the whole machine (tree-scan.ts).

import type { ProcessTree, TreeLook, TreeMember } from '../child.js';
import type { ProcEntry } from './proc-files.js';
import { errnoOf } from '../start/spawn-failure.js';

/** How the members of a tree are recognised. */
export interface Kin {
  /** The leader's pid, which is also the id of its group and session. */
  readonly pid: number;
  /** Once the leader is reaped, its pid may belong to another process. */
  readonly isLeaderReaped: boolean;
  /** Inherited by every descendant, even after its parents have died; undefined where marks are not available. */
  readonly mark: string | undefined;
  /** Live members found by the last look, pid to start time: they remain members even if their parents die first. */
  readonly known: ReadonlyMap<number, string>;
}

export interface Found {
  /** Live members, the leader included. */
  readonly members: readonly ProcEntry[];
  /** False when a live member may have been missed. */
  readonly isCertain: boolean;
  /** The leader's pid now belongs to another process, and so may its group id. */
  readonly isPidReused: boolean;
}

/** `new` sees every process that exists at the call; `ofThisTurn` may reuse a look made for another tree in this turn of the event loop. */
export type Freshness = 'new' | 'ofThisTurn';

export interface TreeFinder {
  find(kin: Kin, freshness: Freshness): Promise<Found>;
  /** Kills members the moment they are seen, to catch programs that keep forking and exiting faster than a complete look takes. */
  chase(kin: Kin): void;
  /** Discards the current look, which is out of date. */
  expire(): void;
  /** Whether a member of any tree may be left, as far as that can be determined without scanning the whole machine. */
  isAnyLeft(): boolean;
}

export class FoundTree implements ProcessTree {
  readonly #finder: TreeFinder;
  #kin: Kin;
  #looking: Promise<void> | undefined;

  constructor(finder: TreeFinder, { pid, mark }: Pick<Kin, 'pid' | 'mark'>) {
    this.#finder = finder;
    this.#kin = { pid, mark, isLeaderReaped: false, known: new Map() };
  }

  async signalGroup(signal: string): Promise<boolean> {
    if (this.#ownsGroupId) return signalPid(-this.#kin.pid, signal);
    const remains = (await this.look('ofThisTurn')).members.filter((member) => member.isInGroup);
    return remains.filter(({ pid }) => signalPid(pid, signal)).length > 0;
  }

  signal(members: readonly TreeMember[], signals: readonly string[]): boolean {
    const ownsGroupId = this.#ownsGroupId;
    if (ownsGroupId) signalPid(-this.#kin.pid, ...signals);
    const missed = members.filter(({ pid, isInGroup }) => !(isInGroup && ownsGroupId) && !signalPid(pid, ...signals));
    return missed.length === 0;
  }

  /** An unreaped leader, even a dead one, keeps its pid, and so the group's id, from being reused. */
  get #ownsGroupId(): boolean {
    return !this.#kin.isLeaderReaped;
  }

  look(freshness: Freshness): Promise<TreeLook> {
    // One after another: each look builds on the members that the previous one found, and must not overwrite newer ones.
    const look = this.#looking === undefined ? this.#lookNow(freshness) : this.#looking.then(() => this.#lookNow(freshness));
    const looking = look.then(noResult, noResult);
    this.#looking = looking;
    void looking.then(() => this.#looking === looking && (this.#looking = undefined));
    return look;
  }

  async #lookNow(freshness: Freshness): Promise<TreeLook> {
    const { pid: leader, isLeaderReaped: wasReaped } = this.#kin;
    const found = await this.#finder.find(this.#kin, freshness);
    // If the leader was reaped during the look, its pid may belong to another process, and its orphans may have been missed.
    const isOvertaken = this.#kin.isLeaderReaped && !wasReaped;
    const members = isOvertaken ? found.members.filter(({ pid }) => pid !== leader) : found.members;
    this.#kin = { ...this.#kin, known: new Map(members.map(({ pid, born }) => [pid, born])) };
    return {
      members: members.map(({ pid, pgid }) => ({ pid, isInGroup: pgid === leader && !found.isPidReused })),
      isCertain: found.isCertain && !isOvertaken,
    };
  }

  chase(): void {
    this.#finder.chase(this.#kin);
  }

  leaderReaped(): void {
    const known = new Map([...this.#kin.known].filter(([pid]) => pid !== this.#kin.pid));
    this.#kin = { ...this.#kin, isLeaderReaped: true, known };
    this.#finder.expire(); // an earlier look still shows the leader, which would be mistaken for a new owner of its pid
  }
}

function noResult(): void {}

/** Sends signals to a process, or to a group when `pid` is negative; false when the target does not exist or may not be signalled. */
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
