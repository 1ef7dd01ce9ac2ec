// The timers that watch a turn and a run. They report when something takes too long or nothing happens; the run decides what to do about
// it.

import type { Clock, Timer } from '../base/clock.js';
import { type TreeActivity, hasWorked } from './tree-activity.js';

/** A limit that is undefined never expires. */
export interface WatchdogLimits {
  /** A turn is given up after this long without output or any other sign of work. */
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
  /** What the program's processes have done so far; undefined when that cannot be determined. Never rejects. */
  readonly look: () => Promise<TreeActivity | undefined>;
  /** `limitMs` is the limit that was exceeded. */
  readonly expired: (watchdog: WatchdogName, limitMs: number) => void;
}

/**
 * How often a silent program is checked within one idle timeout. Work shows only as a difference between two looks, so the first ones come
 * before the timeout. With four, the end of work is noticed at most a quarter of the timeout late, and each look costs one `ps`.
 */
const looksPerTimeout = 4;

export class Watchdogs {
  readonly #context: WatchdogsContext;
  readonly #total: Timer | undefined;
  #state: 'betweenTurns' | 'watching' | 'paused' = 'betweenTurns';
  #turn: Timer | undefined;
  /** What remains of the turn's time, as of `#turnResumedAt`. */
  #turnLeftMs: number | undefined;
  #turnResumedAt = 0;
  #idle: Timer | undefined;
  /** Time of the last output, or of work that a look has found. */
  #lastSignAt = 0;
  /** Counts output, to recognise a look that output has overtaken. */
  #outputs = 0;
  #lastLook: TreeActivity | undefined;
  #looking: Promise<void> | undefined;

  constructor(context: WatchdogsContext) {
    this.#context = context;
    this.#total = this.#after(context.limits.totalTimeoutMs, 'total');
  }

  turnStarted(): void {
    this.#turnLeftMs = this.#context.limits.turnTimeoutMs;
    this.#watch();
  }

  /** The program waits for something that is not its fault: neither the turn's time nor the idle time passes until `resume`. */
  pause(): void {
    if (this.#state !== 'watching') return;
    this.#stopTimers();
    this.#state = 'paused';
    if (this.#turnLeftMs !== undefined) this.#turnLeftMs -= this.#context.clock.elapsed() - this.#turnResumedAt;
  }

  resume(): void {
    if (this.#state === 'paused') this.#watch();
  }

  turnEnded(): void {
    this.#stopTimers();
    this.#state = 'betweenTurns';
  }

  output(): void {
    this.#lastSignAt = this.#context.clock.elapsed();
    this.#lastLook = undefined;
    this.#outputs += 1;
  }

  end(): void {
    this.turnEnded();
    this.#total?.cancel();
  }

  #watch(): void {
    this.#stopTimers();
    this.#state = 'watching';
    this.#turnResumedAt = this.#context.clock.elapsed();
    this.#turn = this.#after(this.#turnLeftMs, 'turn');
    this.output();
    this.#watchIdle();
  }

  #stopTimers(): void {
    this.#turn?.cancel();
    this.#idle?.cancel();
    this.#turn = undefined;
    this.#idle = undefined;
  }

  #after(ms: number | undefined, name: WatchdogName): Timer | undefined {
    return ms === undefined ? undefined : this.#context.clock.after(Math.max(ms, 0), () => this.#expire(name));
  }

  /** A single timer however much output there is: when it fires it checks, and sleeps for the remaining time. */
  #watchIdle(): void {
    const { idleTimeoutMs } = this.#context.limits;
    if (idleTimeoutMs === undefined) return;
    const [silentMs, lookMs] = [this.#silentMs(), this.#lookMs(idleTimeoutMs)];
    const nextAtMs = Math.min((Math.floor(silentMs / lookMs) + 1) * lookMs, idleTimeoutMs);
    this.#idle = this.#context.clock.after(Math.max(nextAtMs - silentMs, 0), () => void this.#checkIdle(idleTimeoutMs));
  }

  async #checkIdle(idleTimeoutMs: number): Promise<void> {
    const timer = this.#idle;
    if (this.#silentMs() >= idleTimeoutMs) {
      await this.#looking;
      await this.#look(); // work may have begun since the last look
      if (this.#idle !== timer) return; // the turn has ended or was paused in the meantime
      if (this.#silentMs() >= idleTimeoutMs) return this.#expire('idle');
    } else if (this.#silentMs() >= this.#lookMs(idleTimeoutMs)) {
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    }
    this.#watchIdle();
  }

  async #look(): Promise<void> {
    const { clock, limits, look } = this.#context;
    if (limits.idleBy === 'output') return;
    const [outputs, lookedAt] = [this.#outputs, clock.elapsed()];
    const now = await look();
    if (this.#outputs !== outputs) return;
    if (now !== undefined && hasWorked(this.#lastLook, now)) this.#lastSignAt = lookedAt;
    this.#lastLook = now;
  }

  #expire(watchdog: WatchdogName): void {
    const { limits, expired } = this.#context;
    expired(watchdog, limits[`${watchdog}TimeoutMs`] ?? 0);
  }

  #silentMs(): number {
    return this.#context.clock.elapsed() - this.#lastSignAt;
  }

  #lookMs(idleTimeoutMs: number): number {
    return this.#context.limits.idleBy === 'output' ? idleTimeoutMs : idleTimeoutMs / looksPerTimeout;
  }
}
