// Which of a connection's pumps sends next while the peer lags: one after the other, a chunk each. If all went on at once when the peer
// has caught up, it would be behind by a hundred chunks again, and the answer of a quiet process would wait behind them.

import type { Channel } from '../rpc/channel.js';

/** Sends what it has; false when the peer lags again. */
export type Sender = () => boolean;

export class SendTurns {
  readonly #channel: Channel;
  readonly #waiting: Sender[] = [];

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Calls the sender when the peer has caught up and it is its turn. */
  wait(sender: Sender): void {
    if (this.#waiting.push(sender) === 1) this.#waitForPeer();
  }

  #waitForPeer(): void {
    void this.#channel.drained().then(() => this.#resume());
  }

  #resume(): void {
    // Kept in the list until it has sent, so that it does not wait for the peer a second time.
    for (let [sender] = this.#waiting; sender !== undefined; [sender] = this.#waiting) {
      const keepsUp = sender();
      this.#waiting.shift();
      if (!keepsUp) break;
    }
    if (this.#waiting.length > 0) this.#waitForPeer();
  }
}
