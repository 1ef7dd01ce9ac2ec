// Ends a whole tree: sends SIGTERM, waits, sends SIGKILL, and looks until no process is left. Knows trees and time, not output.

import type { Clock, Timer } from '../../base/clock.js';
import type { Child, ProcessTree, TreeLook, TreeMember } from '../child.js';

/** Delays between looks at a tree that is ending: short at first, since most trees end immediately. */
const firstLookMs = 2;
const lastLookMs = 100;

/** How long SIGKILL may take before remaining processes are reported as survivors. Only a process stuck in the kernel takes this long. */
const killTimeoutMs = 5_000;

/** While looks fail, for lack of descriptors or of ps, they are retried at this interval, for at most this long. */
const blindLookMs = 1_000;
const blindTimeoutMs = 10 * 60_000;

/** While looks fail, survivors are reported at `reportAt`, but `giveUpAt` moves on, to leave time to kill members once looks work again. */
type Stage =
  | { kind: 'idle' }
  | { kind: 'asked'; forceAt: number }
  | { kind: 'forced'; reportAt: number; giveUpAt: number }
  | { kind: 'over' };

export class Termination {
  readonly #tree: ProcessTree;
  readonly #leader: TreeMember;
  readonly #clock: Clock;
  readonly #gone: (survivors: readonly number[]) => void;
  #stage: Stage = { kind: 'idle' };
  #isLeaderAlive = true;
  /** Members found by the last look that found any. */
  #seen: readonly TreeMember[] = [];
  /** The last look may have missed a member. Twice in a row suggests a program that keeps forking and exiting before it is killed. */
  #mayHaveMissed = false;
  #survivors: readonly number[] | undefined;
  #look: Timer | undefined;
  #lookMs = firstLookMs;

  /** `gone` is called once: when the tree is verified gone, or when survivors could not be killed, or looks kept failing, for that long. */
  constructor(child: Pick<Child, 'pid' | 'tree'>, clock: Clock, gone: (survivors: readonly number[]) => void) {
    this.#tree = child.tree;
    this.#leader = { pid: child.pid, isInGroup: true };
    this.#clock = clock;
    this.#gone = gone;
  }

  get isUnderWay(): boolean {
    return !this.isOver && this.#isLooking;
  }

  /** The outcome has been reported: the tree is gone, or its survivors are known. */
  get isOver(): boolean {
    return this.#survivors !== undefined;
  }

  /** Processes that could not be ended; undefined until the outcome has been reported. */
  get survivors(): readonly number[] | undefined {
    return this.#survivors;
  }

  get #isLooking(): boolean {
    return this.#stage.kind === 'asked' || this.#stage.kind === 'forced';
  }

  /** Starts, or hurries a termination under way: a shorter grace than the current one takes effect, a longer one does not. */
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

  /** The leader has ended, for whatever reason. */
  leaderExited(): void {
    this.#isLeaderAlive = false;
    if (this.isUnderWay) this.#lookAgain(0);
  }

  /** SIGTERM is sent only once, since some programs take a second one as "now". A stopped process handles it only after SIGCONT. */
  async #ask(): Promise<void> {
    const look = await this.#takeLook('new');
    this.#tree.signal(look?.members ?? [], ['SIGTERM', 'SIGCONT']);
  }

  #force(): void {
    const giveUpAt = this.#clock.elapsed() + killTimeoutMs;
    this.#stage = { kind: 'forced', reportAt: giveUpAt, giveUpAt };
    this.#lookMs = firstLookMs;
    void this.#killRemaining('new');
  }

  #chase(): void {
    try {
      this.#tree.chase();
    } catch {
      // Out of descriptors: the next look will find the rest.
    }
  }

  #lookAgain(afterMs: number): void {
    this.#look?.cancel();
    if (!this.#isLooking) return; // finished while an earlier look was still running
    const look = () => void this.#lookNow();
    // Once the outcome is reported, looking on must not keep this program alive: its exit ends the tree as well.
    this.#look = this.isOver ? this.#clock.afterIdle(afterMs, look) : this.#clock.after(afterMs, look);
  }

  async #lookNow(): Promise<void> {
    if (this.#stage.kind === 'forced') return this.#killRemaining('ofThisTurn');
    // While the leader lives, a look would show nothing new, and its exit triggers the next one: a graceful end costs no extra looks.
    const isGone = !this.#isLeaderAlive && isEmpty(await this.#takeLook('ofThisTurn'));
    if (this.#stage.kind !== 'asked') return;
    if (isGone) return this.#finish([]);
    const restMs = this.#stage.forceAt - this.#clock.elapsed();
    if (restMs <= 0) return this.#force();
    this.#lookAgain(this.#isLeaderAlive ? restMs : Math.min(restMs, this.#nextLookMs()));
  }

  /** Kills every member found, and looks again until none is left. */
  async #killRemaining(freshness: 'new' | 'ofThisTurn'): Promise<void> {
    const wasLeaderAlive = this.#isLeaderAlive;
    const look = await this.#takeLook(freshness);
    if (this.#stage.kind !== 'forced') return;
    if (!this.#isLeaderAlive && isEmpty(look)) return this.#finish([]);
    const stage = this.#stage;
    const now = this.#clock.elapsed();
    const isBlind = look === undefined && now < stage.reportAt + blindTimeoutMs;
    const left = this.#left(look);
    if (isBlind) this.#stage = { ...stage, giveUpAt: now + killTimeoutMs };
    else if (now >= stage.giveUpAt) return this.#finish(left);
    if (now >= stage.reportAt) this.#report(left);
    const haveAll = this.#tree.signal(look?.members ?? [], ['SIGKILL']);
    const mayHaveMissed = !haveAll || look?.isCertain === false;
    if (mayHaveMissed && this.#mayHaveMissed) this.#chase();
    this.#mayHaveMissed = mayHaveMissed;
    if (isBlind && this.isOver) this.#lookAgain(blindLookMs);
    // The leader's exit triggers the next look immediately, so there is no hurry until then.
    else if (this.#isLeaderAlive) this.#lookAgain(lastLookMs);
    else this.#lookAgain(wasLeaderAlive ? 0 : this.#nextLookMs());
  }

  /** The survivors to report: the members seen last, or the leader on behalf of a tree that no look has ever shown. */
  #left(look: TreeLook | undefined): readonly TreeMember[] {
    if (this.#isLeaderAlive) return [this.#leader];
    if (look !== undefined && look.members.length > 0) return look.members;
    const others = this.#seen.filter(({ pid }) => pid !== this.#leader.pid);
    return others.length === 0 && look === undefined ? [this.#leader] : others;
  }

  /** Undefined when the look failed, which does not prove that the tree is gone. */
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
    this.#report(survivors);
  }

  #report(survivors: readonly TreeMember[]): void {
    if (this.isOver) return;
    this.#survivors = survivors.map(({ pid }) => pid);
    this.#gone(this.#survivors);
  }
}

function isEmpty(look: TreeLook | undefined): boolean {
  return look?.isCertain === true && look.members.length === 0;
}
