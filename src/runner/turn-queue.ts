// Runs turns one after another, numbered from 1. Does not know what a turn does.

export class TurnQueue {
  #asked = 0;
  #ended = 0;
  #drained: Promise<unknown> = Promise.resolve();

  /** Number of the last turn requested. */
  get asked(): number {
    return this.#asked;
  }

  /** Resolves when the turns requested so far have ended. */
  get drained(): Promise<unknown> {
    return this.#drained;
  }

  /** The first in the queue begins immediately, so that a stop or an interrupt right after it finds it running. */
  add<T>(run: (turn: number) => Promise<T>): { readonly number: number; readonly result: Promise<T> } {
    const isFirstInLine = this.#ended === this.#asked;
    this.#asked += 1;
    const number = this.#asked;
    const begin = async (): Promise<T> => {
      try {
        return await run(number);
      } finally {
        this.#ended += 1;
      }
    };
    const result = isFirstInLine ? begin() : this.#drained.then(begin);
    this.#drained = result.catch(() => {}); // its caller gets the rejection
    return { number, result };
  }
}
