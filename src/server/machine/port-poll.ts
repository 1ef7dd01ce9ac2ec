// Looks at the listening sockets of this machine at regular intervals, once for all connections that watch them, and only while one does.

import type { Clock, Timer } from '../../base/clock.js';
import { type ListeningSocket, listeningSockets } from './listening-sockets.js';

/** Time between two looks: short enough that a preview seems to open at once. */
const pollMs = 250;

/** On a machine with thousands of sockets a look takes tens of milliseconds. It may take this share of the time. */
const mostShare = 0.1;

export interface PortReader {
  /** Whether a look could show it anything new. */
  isInterested(): boolean;
  look(sockets: readonly ListeningSocket[]): Promise<void>;
}

export class PortPoll {
  readonly #clock: Clock;
  readonly #readers = new Set<PortReader>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(reader: PortReader): void {
    this.#readers.add(reader);
    this.#timer ??= this.#after(pollMs);
  }

  remove(reader: PortReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #after(ms: number): Timer {
    return this.#clock.afterIdle(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    const timer = this.#timer;
    const begun = this.#clock.elapsed();
    const interested = [...this.#readers].filter((reader) => reader.isInterested());
    try {
      const sockets = interested.length === 0 ? [] : await listeningSockets();
      await Promise.all(interested.map((reader) => reader.look(sockets)));
    } catch {
      // Out of descriptors, most likely: the next look may succeed.
    }
    const tookMs = this.#clock.elapsed() - begun;
    // Otherwise the last reader has left during the look, and another may have come.
    if (this.#timer === timer) this.#timer = this.#after(Math.max(pollMs, tookMs / mostShare));
  }
}
