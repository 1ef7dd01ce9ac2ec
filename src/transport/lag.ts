// When a peer counts as lagging, and how senders wait for it. Every channel bases `send` and `drained` on these two marks.

import { type Deferred, deferred } from '../base/deferred.js';

/** Unsent bytes beyond which `send` returns false: four full chunks, which keep any network busy and cost little memory per peer. */
export const highWaterBytes = 256 * 1024;

/** A peer that lagged has caught up below this, on channels that can measure it: early enough that the connection never runs dry. */
export const lowWaterBytes = 64 * 1024;

/** Lets several senders wait for one peer. */
export class DrainGate {
  #waiting: Deferred<void> | undefined;

  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  wait(): Promise<void> {
    this.#waiting ??= deferred();
    return this.#waiting.promise;
  }

  /** Releases all senders that are waiting now. */
  open(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve();
  }
}
