// The world's time as the code under test sees it, with its timers counted: none may be left at the end.

import type { Clock, Timer } from '#src/base/clock.js';

export interface ClockUse {
  /** Timers that have neither fired nor been cancelled. */
  readonly running: number;
}

export class CountedClock implements Clock, ClockUse {
  readonly #clock: Clock;
  readonly #running = new Set<Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get running(): number {
    return this.#running.size;
  }

  now(): number {
    return this.#clock.now();
  }

  elapsed(): number {
    return this.#clock.elapsed();
  }

  after(ms: number, fire: () => void): Timer {
    const inner = this.#clock.after(ms, () => {
      this.#running.delete(timer);
      fire();
    });
    const timer: Timer = {
      cancel: () => {
        this.#running.delete(timer);
        inner.cancel();
      },
    };
    this.#running.add(timer);
    return timer;
  }

  afterIdle(ms: number, fire: () => void): Timer {
    return this.after(ms, fire);
  }
}
