// A wait that can be cut short.

import type { Clock } from '../base/clock.js';

export class Pause {
  readonly #clock: Clock;
  #cut: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after this long, or when it is cut short. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(Math.max(ms, 0), resolve);
      this.#cut = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Ends the wait under way; does nothing without one. */
  cut(): void {
    this.#cut();
  }
}
