// Lets bulk readers take turns. Otherwise a process that writes as fast as it can is read for milliseconds on end while all others wait:
// next to a hundred of them an echo took a quarter of a second; with turns it takes a millisecond.

/** A read of this many bytes has emptied a nearly full pipe, so more output is likely to follow. */
export const bulkBytes = 32 * 1024;

/** Bulk readers that continue in one turn of the event loop. */
const readersPerTurn = 2;

export class ReadTurns {
  readonly #waiting: (() => void)[] = [];

  /** Calls `readOn` when its turn comes. */
  wait(readOn: () => void): void {
    if (this.#waiting.push(readOn) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    for (const readOn of this.#waiting.splice(0, readersPerTurn)) readOn();
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}
