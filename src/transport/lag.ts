// When a peer lags, and how senders wait for it. Every channel answers `send` and `drained` by these two marks.

import { type Deferred, deferred } from '../base/deferred.js';

/** Bytes a peer may leave untaken before `send` says so: four full chunks, which keeps any network busy and costs little per peer. */
export const highWaterBytes = 256 * 1024;

/** Where a peer that lagged has caught up, if its channel can tell so finely: early enough that it never runs dry. */
export const lowWaterBytes = 64 * 1024;

/** Senders waiting together for one peer. */
export class DrainGate {
  #waiting: Deferred<void> | undefined;

  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  wait(): Promise<void> {
    this.#waiting ??= deferred();
    return this.#waiting.promise;
  }

  /** Lets everybody through who waits now. */
  open(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve();
  }
}
