// Everything that descends from one leader, and how to signal it. How descendants are found is a finder's business: by following the tree
// (linux/tree-walk.ts) or, where that is not possible, by looking at the whole machine (tree-scan.ts).

import type { ProcessTree, TreeLook, TreeMember } from '../child.js';
import type { ProcEntry } from './proc-files.js';
import { errnoOf } from '../start/spawn-failure.js';

/** What the members of a tree are recognised by. */
export interface Kin {
  /** The leader's pid: also the number of its group and session. */
  readonly pid: number;
  /** From then on the pid may have a new owner. */
  readonly isLeaderReaped: boolean;
  /** Carried by every descendant, whatever became of its parents; undefined where there are no marks. */
  readonly mark: string | undefined;
  /** Living members of the last look, pid to birth: they stay members when their parents die first. */
  readonly known: ReadonlyMap<number, string>;
}

export interface Found {
  /** Living members, the leader included. */
  readonly members: readonly ProcEntry[];
  /** False when a living member may have been missed. */
  readonly isCertain: boolean;
  /** The leader's pid belongs to another process now, and so may its group. */
  readonly isPidReused: boolean;
}

/** `new` knows everything that was there when it was called; `ofThisTurn` may be a look that another tree has caused in this turn of the event loop. */
export type Freshness = 'new' | 'ofThisTurn';

export interface TreeFinder {
  find(kin: Kin, freshness: Freshness): Promise<Found>;
  /** Kills members at the moment they are seen, for those that go on as their own child before a whole look is over. */
  chase(kin: Kin): void;
  /** What was seen so far is out of date. */
  expire(): void;
  /** Whether something of any tree may be left, as far as that can be told without looking at the whole machine. */
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
    if (this.#isGroupNamed) return signalPid(-this.#kin.pid, signal);
    const remains = (await this.look('ofThisTurn')).members.filter((member) => member.isInGroup);
    return remains.filter(({ pid }) => signalPid(pid, signal)).length > 0;
  }

  signal(members: readonly TreeMember[], signals: readonly string[]): boolean {
    const isGroupNamed = this.#isGroupNamed;
    if (isGroupNamed) signalPid(-this.#kin.pid, ...signals);
    const missed = members.filter(({ pid, isInGroup }) => !(isInGroup && isGroupNamed) && !signalPid(pid, ...signals));
    return missed.length === 0;
  }

  /** An unreaped leader, even a dead one, keeps its pid and so the group's name from being used again. */
  get #isGroupNamed(): boolean {
    return !this.#kin.isLeaderReaped;
  }

  look(freshness: Freshness): Promise<TreeLook> {
    // One after another: what an earlier look has learnt counts in the next one, and a late one must not forget it.
    const look = this.#looking === undefined ? this.#lookNow(freshness) : this.#looking.then(() => this.#lookNow(freshness));
    const looking = look.then(noResult, noResult);
    this.#looking = looking;
    void looking.then(() => this.#looking === looking && (this.#looking = undefined));
    return look;
  }

  async #lookNow(freshness: Freshness): Promise<TreeLook> {
    const { pid: leader, isLeaderReaped: wasReaped } = this.#kin;
    const found = await this.#finder.find(this.#kin, freshness);
    // If the leader was reaped meanwhile, its pid may be another process's, and what it left may not have been seen.
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
    this.#finder.expire(); // in a look taken before, the leader would seem to be a new owner of its own pid
  }
}

function noResult(): void {}

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
