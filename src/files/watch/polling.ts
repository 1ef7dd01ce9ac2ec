// Notices where the system sends none that can be relied on: at intervals, everything is due to be looked at.

import type { Clock, Timer } from '../../base/clock.js';
import type { Follower, Notices } from './notices.js';

/** Soon enough for a person who waits for a change; a tree of 10 000 files then takes about a fifth of one core. */
export const pollIntervalMs = 2_000;

export class PollingNotices implements Notices {
  readonly #clock: Clock;
  readonly #followers = new Set<{ readonly follower: Follower }>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  follow(_descriptor: number, follower: Follower): () => void {
    const followed = { follower };
    this.#followers.add(followed);
    this.#timer ??= this.#clock.after(pollIntervalMs, () => this.#tick());
    return () => {
      this.#followers.delete(followed);
      if (this.#followers.size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  #tick(): void {
    this.#timer = this.#clock.after(pollIntervalMs, () => this.#tick());
    for (const { follower } of this.#followers) follower.lookAtAll('due');
  }
}
