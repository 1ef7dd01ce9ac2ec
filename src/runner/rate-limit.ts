// The rate limit that stands in the way of a turn, and the wait until it is lifted. Stopping a run cuts the wait short.

import type { Clock } from '../base/clock.js';

/** Until a rate limit of unknown length is tried again. */
const defaultBackoffMs = 5 * 60_000;

export interface Block {
  /** Milliseconds since the Unix epoch; undefined when the program did not say. */
  readonly resetsAt: number | undefined;
}

export class RateLimit {
  readonly #clock: Clock;
  readonly #policy: 'end' | 'wait';
  #block: Block | undefined;
  #isCut = false;
  #wake: () => void = () => {};

  constructor(clock: Clock, policy: 'end' | 'wait') {
    this.#clock = clock;
    this.#policy = policy;
  }

  /** The limit the program ran into since the last `clear`. */
  get block(): Block | undefined {
    return this.#block;
  }

  /** The turn goes on when the limit is lifted. */
  get isToWait(): boolean {
    return this.#block !== undefined && this.#policy === 'wait' && !this.#isCut;
  }

  /** How long `wait` will take. */
  get waitMs(): number {
    const { resetsAt } = this.#block ?? { resetsAt: undefined };
    return resetsAt === undefined ? defaultBackoffMs : Math.max(resetsAt - this.#clock.now(), 0);
  }

  blocked(block: Block): void {
    this.#block = block;
  }

  clear(): void {
    this.#block = undefined;
  }

  /** Resolves when the limit is lifted, or at once when the run is ended. */
  wait(): Promise<void> {
    if (this.#isCut) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.after(this.waitMs, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Ends the wait under way, and lets no other one begin. */
  cut(): void {
    this.#isCut = true;
    this.#wake();
  }
}
