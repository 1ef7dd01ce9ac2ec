// Looks at the listening sockets of this machine at regular intervals, once for all connections that watch them, and only while one does.

import type { Clock, Timer } from '../../base/clock.js';
import { type ListeningSocket, listeningSockets } from './listening-sockets.js';

/** Time between two looks. Short enough that a preview seems to open at once; a look among 2 000 sockets takes about 2 ms. */
const pollMs = 250;

export interface PortReader {
  /** Whether a look could show it anything new. */
  isInterested(): boolean;
  /** Must not reject. */
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
    this.#timer ??= this.#later();
  }

  remove(reader: PortReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #later(): Timer {
    return this.#clock.afterIdle(pollMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const interested = [...this.#readers].filter((reader) => reader.isInterested());
    if (interested.length > 0) {
      // Out of descriptors, most likely: the next look may succeed.
      const sockets = await listeningSockets().catch(() => undefined);
      if (sockets !== undefined) await Promise.all(interested.map((reader) => reader.look(sockets)));
    }
    if (this.#readers.size > 0) this.#timer = this.#later();
  }
}
