// Who may read next. A process that writes as fast as it can would be read for milliseconds on end, and everybody else would wait:
// with a hundred of them an echo took a quarter of a second, in turns it takes a millisecond.

/** A read of this many bytes has emptied a full pipe, or nearly: there is more where it came from. */
export const bulkBytes = 32 * 1024;

/** Bulk readers that go on in one turn of the event loop. */
const readersPerTurn = 2;

export class ReadTurns {
  readonly #waiting: (() => void)[] = [];

  /** Calls `readOn` when it is its turn. */
  wait(readOn: () => void): void {
    if (this.#waiting.push(readOn) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    for (const readOn of this.#waiting.splice(0, readersPerTurn)) readOn();
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}
