// Ends a whole tree: asks, waits, forces, and then looks until nothing is left. Knows trees and time, nothing of output.

import type { Clock, Timer } from '../base/clock.js';
import type { Child, ProcessTree, TreeMember } from './child.js';
import { signalPid } from './process-tree.js';

/** Waits between looks at a tree that should be going away: quick at first, since most trees go at once. */
const firstLookMs = 2;
const lastLookMs = 100;

/** How long SIGKILL may take before what is left is called a survivor. Only a process stuck inside the kernel takes this long. */
const killPatienceMs = 5_000;

/** A table that cannot be read, for want of descriptors or of a ps, is tried again this often, and no longer than this. */
const blindLookMs = 1_000;
const blindPatienceMs = 10 * 60_000;

/** A tree that nobody can look at is told of at `tellAt`, but not given up before there was time to end what is seen of it. */
type Stage =
  | { kind: 'idle' }
  | { kind: 'asked'; forceAt: number }
  | { kind: 'forced'; tellAt: number; giveUpAt: number }
  | { kind: 'over' };

export class Termination {
  readonly #tree: ProcessTree;
  readonly #leader: TreeMember;
  readonly #clock: Clock;
  readonly #gone: (survivors: readonly number[]) => void;
  #stage: Stage = { kind: 'idle' };
  #isLeaderAlive = true;
  /** By the last look that could be taken. */
  #seen: readonly TreeMember[] = [];
  #isTold = false;
  #look: Timer | undefined;
  #lookMs = firstLookMs;

  /** `gone` is called once, when the tree is verified gone, or who is left could not be ended, or nobody could look for that long. */
  constructor(child: Pick<Child, 'pid' | 'tree'>, clock: Clock, gone: (survivors: readonly number[]) => void) {
    this.#tree = child.tree;
    this.#leader = { pid: child.pid, isInGroup: true };
    this.#clock = clock;
    this.#gone = gone;
  }

  get isUnderWay(): boolean {
    return !this.#isTold && this.#isLooking;
  }

  /** Nobody is left, or nobody that could be ended so far. */
  get isOver(): boolean {
    return this.#isTold;
  }

  get #isLooking(): boolean {
    return this.#stage.kind === 'asked' || this.#stage.kind === 'forced';
  }

  /** Starts, or hurries on: a shorter grace than the one under way counts, a longer one does not. */
  begin(forceAfterMs: number): void {
    const forceAt = this.#clock.elapsed() + forceAfterMs;
    switch (this.#stage.kind) {
      case 'idle':
        this.#stage = { kind: 'asked', forceAt };
        // A stopped process would not get to see the first without the second.
        if (forceAfterMs > 0) void this.#signalTree('new', ['SIGTERM', 'SIGCONT']);
        break;
      case 'asked':
        this.#stage = { kind: 'asked', forceAt: Math.min(forceAt, this.#stage.forceAt) };
        break;
      case 'forced':
      case 'over':
        return;
    }
    if (forceAfterMs <= 0) this.#force();
    else this.#lookAgain(firstLookMs);
  }

  /** The leader has ended, by itself or not. */
  leaderExited(): void {
    this.#isLeaderAlive = false;
    if (this.isUnderWay) this.#lookAgain(0);
  }

  #force(): void {
    const giveUpAt = this.#clock.elapsed() + killPatienceMs;
    this.#stage = { kind: 'forced', tellAt: giveUpAt, giveUpAt };
    void this.#signalTree('new', ['SIGKILL']);
    this.#lookMs = firstLookMs;
    this.#lookAgain(0);
  }

  /**
   * The group, and those that left it. They are looked up first: once their parents are dead they could not be told from
   * strangers everywhere. So the first look must know everybody. Some programs take a second SIGTERM as "now": nobody gets two.
   */
  async #signalTree(table: 'new' | 'ofThisTurn', signals: readonly string[]): Promise<void> {
    const members = (await this.#members(table)) ?? [];
    // Without its leader the group is found by looking; a look that fails is made up for by the next one.
    await Promise.all(signals.map((signal) => this.#tree.signalGroup(signal).catch(() => false)));
    const outside = members.filter(({ isInGroup }) => !isInGroup);
    const missed = outside.filter(({ pid, hasVanished }) => hasVanished === true || !signalPid(pid, ...signals));
    if (missed.length > 0 && this.#stage.kind === 'forced') this.#chase();
  }

  #chase(): void {
    try {
      this.#tree.chase();
    } catch {
      // Out of descriptors: the next look makes up for it.
    }
  }

  #lookAgain(afterMs: number): void {
    this.#look?.cancel();
    if (!this.#isLooking) return; // over while an earlier look was still being taken
    const look = () => void this.#lookNow();
    // Once it is told nobody waits for it, and the end of this program ends the tree too.
    this.#look = this.#isTold ? this.#clock.afterIdle(afterMs, look) : this.#clock.after(afterMs, look);
  }

  async #lookNow(): Promise<void> {
    // While the leader lives a look tells nothing new, so a graceful end costs none.
    const left = this.#isLeaderAlive ? [this.#leader] : await this.#members();
    switch (this.#stage.kind) {
      case 'idle':
      case 'over':
        return;
      case 'asked': {
        if (left?.length === 0) return this.#finish(left);
        const restMs = this.#stage.forceAt - this.#clock.elapsed();
        return restMs <= 0 ? this.#force() : this.#lookAgain(Math.min(restMs, this.#nextLookMs()));
      }
      case 'forced':
        return this.#forceOn(left, this.#stage);
    }
  }

  async #forceOn(left: readonly TreeMember[] | undefined, stage: Stage & { kind: 'forced' }): Promise<void> {
    const now = this.#clock.elapsed();
    const isBlind = left === undefined && now < stage.tellAt + blindPatienceMs;
    const known = left ?? this.#lastSeen();
    if (isBlind) this.#stage = { ...stage, giveUpAt: now + killPatienceMs };
    else if (known.length === 0 || now >= stage.giveUpAt) return this.#finish(known);
    if (now >= stage.tellAt) this.#tell(known);
    await this.#signalTree('ofThisTurn', ['SIGKILL']); // whatever was born since the last time
    this.#lookAgain(isBlind && this.#isTold ? blindLookMs : this.#nextLookMs());
  }

  /** Undefined when the table could not be read: not known to be gone is not gone. */
  async #members(table: 'new' | 'ofThisTurn' = 'ofThisTurn'): Promise<readonly TreeMember[] | undefined> {
    try {
      this.#seen = await this.#tree.members(table);
      return this.#seen;
    } catch {
      return undefined;
    }
  }

  /** Who may be left when nobody can look: those seen last, or the leader in the place of its tree. */
  #lastSeen(): readonly TreeMember[] {
    const others = this.#seen.filter(({ pid }) => pid !== this.#leader.pid);
    return others.length === 0 ? [this.#leader] : others;
  }

  #nextLookMs(): number {
    const lookMs = this.#lookMs;
    this.#lookMs = Math.min(lookMs * 2, lastLookMs);
    return lookMs;
  }

  #finish(survivors: readonly TreeMember[]): void {
    this.#stage = { kind: 'over' };
    this.#look?.cancel();
    this.#tell(survivors);
  }

  #tell(survivors: readonly TreeMember[]): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#gone(survivors.map(({ pid }) => pid));
  }
}
