// Lets a connection's pumps take turns while the peer lags, one chunk each. If all of them resumed at once when the peer has caught up, it
// would be a hundred chunks behind again, and the output of a quiet process would wait behind them.

import type { Channel } from '../rpc/channel.js';

/** Sends what it has; returns false when the peer lags again. */
export type Sender = () => boolean;

export class SendTurns {
  readonly #channel: Channel;
  readonly #waiting: Sender[] = [];

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Calls the sender once the peer has caught up and the sender's turn has come. */
  wait(sender: Sender): void {
    if (this.#waiting.push(sender) === 1) this.#waitForPeer();
  }

  #waitForPeer(): void {
    void this.#channel.drained().then(() => this.#resume());
  }

  #resume(): void {
    // A sender stays in the list while it sends, so that queueing itself again does not start a second wait for the peer.
    for (let [sender] = this.#waiting; sender !== undefined; [sender] = this.#waiting) {
      const keepsUp = sender();
      this.#waiting.shift();
      if (!keepsUp) break;
    }
    if (this.#waiting.length > 0) this.#waitForPeer();
  }
}
