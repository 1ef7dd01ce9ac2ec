// What one caller waits for. Ends with the caller, so that nothing is kept for the answer to somebody who has gone.

import type { Clock, Timer } from '../base/clock.js';
import type { ManagedProcess } from '../process/index.js';

export class Waits {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until `isDone`, the deadline or the end, looking again whenever something happens to the process. */
  async until(target: ManagedProcess, isDone: () => boolean, waitMs: number): Promise<void> {
    const deadline = this.#clock.elapsed() + waitMs;
    for (let restMs = waitMs; restMs > 0 && !isDone() && !this.#isOver; restMs = deadline - this.#clock.elapsed()) {
      await target.log.changed({ clock: this.#endingClock, ms: restMs });
    }
  }

  end(): void {
    this.#isOver = true;
    for (const fire of this.#pending) fire();
  }

  /** Its timers fire at the end at the latest. */
  readonly #endingClock: Clock = {
    now: () => this.#clock.now(),
    elapsed: () => this.#clock.elapsed(),
    // To wait without limit is no reason for a program to live on.
    after: (ms, fire) => this.#watch(ms === Infinity ? this.#clock.afterIdle(ms, fire) : this.#clock.after(ms, fire), fire),
    afterIdle: (ms, fire) => this.#watch(this.#clock.afterIdle(ms, fire), fire),
  };

  #watch(timer: Timer, fire: () => void): Timer {
    this.#pending.add(fire);
    return {
      cancel: () => {
        timer.cancel();
        this.#pending.delete(fire);
      },
    };
  }
}
