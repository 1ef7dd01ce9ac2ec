// The pending waits of one caller. They end with the caller, so that nothing is kept for a reply that can no longer be delivered.

import type { Clock } from '../base/clock.js';
import type { ManagedProcess } from '../process/index.js';

export class Waits {
  readonly #clock: Clock;
  readonly #ending = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits until `isDone()` is true, `waitMs` has passed or `end` is called. Checks again whenever the process log changes. */
  async until(target: ManagedProcess, isDone: () => boolean, waitMs: number): Promise<void> {
    const { signal } = this.#ending;
    const deadline = this.#clock.elapsed() + waitMs;
    for (let restMs = waitMs; restMs > 0 && !isDone() && !signal.aborted; restMs = deadline - this.#clock.elapsed()) {
      await target.log.changed({ clock: this.#clock, ms: restMs, signal });
    }
  }

  end(): void {
    this.#ending.abort();
  }
}
