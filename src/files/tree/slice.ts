// Lets long synchronous work pause for the rest of the program. Node's asynchronous calls take about 30 µs each, several times as long as
// the work on a small file itself; so small files are handled synchronously, a few milliseconds at a time.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of synchronous work between two turns of the event loop. Two trees at once still leave other calls prompt. */
const sliceMs = 2;

export class Slice {
  #endsAt = performance.now() + sliceMs;

  isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#endsAt = performance.now() + sliceMs;
  }
}
