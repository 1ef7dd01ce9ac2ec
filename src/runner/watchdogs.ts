// The clocks that a turn and a run are watched by. They say when something has gone on for too long, or not at all; what is done
// about it is the run's business.

import type { Clock, Timer } from '../base/clock.js';
import { type TreeActivity, hasWorked } from './tree-activity.js';

export interface WatchdogLimits {
  /** A turn without output and without any other sign of work for this long is given up. */
  readonly idleTimeoutMs: number | undefined;
  readonly turnTimeoutMs: number | undefined;
  readonly totalTimeoutMs: number | undefined;
  /** `output`: only output counts as a sign of work. */
  readonly idleBy: 'outputAndWork' | 'output';
}

export type WatchdogName = 'idle' | 'turn' | 'total';

export interface WatchdogsContext {
  readonly clock: Clock;
  readonly limits: WatchdogLimits;
  /** What the program's processes have done so far; undefined when that cannot be found out. */
  readonly look: () => Promise<TreeActivity | undefined>;
  readonly expired: (name: WatchdogName) => void;
}

export class Watchdogs {
  readonly #context: WatchdogsContext;
  readonly #total: Timer | undefined;
  #turn: Timer | undefined;
  #idle: Timer | undefined;
  #lastOutputAt = 0;
  #lastLook: TreeActivity | undefined;

  constructor(context: WatchdogsContext) {
    this.#context = context;
    this.#total = this.#after(context.limits.totalTimeoutMs, 'total');
  }

  turnStarted(): void {
    this.turnEnded();
    this.#turn = this.#after(this.#context.limits.turnTimeoutMs, 'turn');
    this.output();
    this.#watchIdle();
  }

  turnEnded(): void {
    this.#turn?.cancel();
    this.#idle?.cancel();
    this.#turn = undefined;
    this.#idle = undefined;
    this.#lastLook = undefined;
  }

  output(): void {
    this.#lastOutputAt = this.#context.clock.elapsed();
  }

  end(): void {
    this.turnEnded();
    this.#total?.cancel();
  }

  #after(ms: number | undefined, name: WatchdogName): Timer | undefined {
    return ms === undefined ? undefined : this.#context.clock.after(ms, () => this.#context.expired(name));
  }

  /** One timer however much output there is: it looks when it fires, and goes back to sleep for the rest. */
  #watchIdle(): void {
    const { clock, limits } = this.#context;
    if (limits.idleTimeoutMs === undefined) return;
    const restMs = this.#lastOutputAt + limits.idleTimeoutMs - clock.elapsed();
    this.#idle = clock.after(Math.max(restMs, 0), () => void this.#checkIdle(limits.idleTimeoutMs ?? 0));
  }

  async #checkIdle(idleTimeoutMs: number): Promise<void> {
    const { clock, limits, look, expired } = this.#context;
    const timer = this.#idle;
    if (clock.elapsed() - this.#lastOutputAt < idleTimeoutMs) return this.#watchIdle();
    const now = limits.idleBy === 'output' ? undefined : await look();
    if (this.#idle !== timer) return; // the turn ended meanwhile
    const before = this.#lastLook;
    this.#lastLook = now;
    // The first look has nothing to be compared with: it takes a second one to tell work from waiting.
    const isWorking = now !== undefined && (before === undefined || hasWorked(before, now));
    if (!isWorking) return expired('idle');
    this.output();
    this.#watchIdle();
  }
}
