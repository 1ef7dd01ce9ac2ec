// Ends a whole tree: asks, waits, forces, and then looks until nothing is left. Knows trees and time, nothing of output.

import type { Clock, Timer } from '../../base/clock.js';
import type { Child, ProcessTree, TreeLook, TreeMember } from '../child.js';

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
  /** By the last look that found any. */
  #seen: readonly TreeMember[] = [];
  /** The last look found a member that died before it was killed: one that goes on as its own child does so again and again. */
  #mayHaveMissed = false;
  #survivors: readonly number[] | undefined;
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
    return !this.isOver && this.#isLooking;
  }

  /** No process is left, or none that could be ended so far. */
  get isOver(): boolean {
    return this.#survivors !== undefined;
  }

  /** Processes that could not be ended; undefined until it is over. */
  get survivors(): readonly number[] | undefined {
    return this.#survivors;
  }

  get #isLooking(): boolean {
    return this.#stage.kind === 'asked' || this.#stage.kind === 'forced';
  }

  /** Starts, or hurries on: a shorter grace than the one under way counts, a longer one does not. */
  begin(forceAfterMs: number): void {
    const now = this.#clock.elapsed();
    let forceAt = now + forceAfterMs;
    switch (this.#stage.kind) {
      case 'idle':
        if (forceAfterMs > 0) void this.#ask();
        break;
      case 'asked':
        forceAt = Math.min(forceAt, this.#stage.forceAt);
        break;
      case 'forced':
      case 'over':
        return;
    }
    this.#stage = { kind: 'asked', forceAt };
    if (forceAt <= now) this.#force();
    else this.#lookAgain(this.#isLeaderAlive ? forceAt - now : firstLookMs);
  }

  /** The leader has ended, by itself or not. */
  leaderExited(): void {
    this.#isLeaderAlive = false;
    if (this.isUnderWay) this.#lookAgain(0);
  }

  /** Some programs take a second SIGTERM as "now", so it is sent once. A stopped process does not get to see it without SIGCONT. */
  async #ask(): Promise<void> {
    const look = await this.#takeLook('new');
    this.#tree.signal(look?.members ?? [], ['SIGTERM', 'SIGCONT']);
  }

  #force(): void {
    const giveUpAt = this.#clock.elapsed() + killPatienceMs;
    this.#stage = { kind: 'forced', tellAt: giveUpAt, giveUpAt };
    this.#lookMs = firstLookMs;
    void this.#forceOn('new');
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
    // Once it is told, the end of this program may come first, and ends the tree too.
    this.#look = this.isOver ? this.#clock.afterIdle(afterMs, look) : this.#clock.after(afterMs, look);
  }

  async #lookNow(): Promise<void> {
    if (this.#stage.kind === 'forced') return this.#forceOn('ofThisTurn');
    // While the leader lives a look tells nothing new, and its end brings on the next one: a graceful end costs none.
    const isGone = !this.#isLeaderAlive && isEmpty(await this.#takeLook('ofThisTurn'));
    if (this.#stage.kind !== 'asked') return;
    if (isGone) return this.#finish([]);
    const restMs = this.#stage.forceAt - this.#clock.elapsed();
    if (restMs <= 0) return this.#force();
    this.#lookAgain(this.#isLeaderAlive ? restMs : Math.min(restMs, this.#nextLookMs()));
  }

  /** Kills what is there, and looks again until nothing is. */
  async #forceOn(freshness: 'new' | 'ofThisTurn'): Promise<void> {
    const wasLeaderAlive = this.#isLeaderAlive;
    const look = await this.#takeLook(freshness);
    if (this.#stage.kind !== 'forced') return;
    if (!this.#isLeaderAlive && isEmpty(look)) return this.#finish([]);
    const stage = this.#stage;
    const now = this.#clock.elapsed();
    const isBlind = look === undefined && now < stage.tellAt + blindPatienceMs;
    const left = this.#left(look);
    if (isBlind) this.#stage = { ...stage, giveUpAt: now + killPatienceMs };
    else if (now >= stage.giveUpAt) return this.#finish(left);
    if (now >= stage.tellAt) this.#tell(left);
    const haveAll = this.#tree.signal(look?.members ?? [], ['SIGKILL']);
    const mayHaveMissed = !haveAll || look?.isCertain === false;
    if (mayHaveMissed && this.#mayHaveMissed) this.#chase();
    this.#mayHaveMissed = mayHaveMissed;
    if (isBlind && this.isOver) this.#lookAgain(blindLookMs);
    // The end of the leader brings on the next look at once, so there is no hurry before it.
    else if (this.#isLeaderAlive) this.#lookAgain(lastLookMs);
    else this.#lookAgain(wasLeaderAlive ? 0 : this.#nextLookMs());
  }

  /** Who is left when the patience is over: those seen last, or the leader in the place of a tree that could never be looked at. */
  #left(look: TreeLook | undefined): readonly TreeMember[] {
    if (this.#isLeaderAlive) return [this.#leader];
    if (look !== undefined && look.members.length > 0) return look.members;
    const others = this.#seen.filter(({ pid }) => pid !== this.#leader.pid);
    return others.length === 0 && look === undefined ? [this.#leader] : others;
  }

  /** Undefined when it could not be taken: not known to be gone is not gone. */
  async #takeLook(freshness: 'new' | 'ofThisTurn'): Promise<TreeLook | undefined> {
    try {
      const look = await this.#tree.look(freshness);
      if (look.members.length > 0) this.#seen = look.members;
      return look;
    } catch {
      return undefined;
    }
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
    if (this.isOver) return;
    this.#survivors = survivors.map(({ pid }) => pid);
    this.#gone(this.#survivors);
  }
}

function isEmpty(look: TreeLook | undefined): boolean {
  return look?.isCertain === true && look.members.length === 0;
}
