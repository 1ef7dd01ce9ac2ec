// Runs long work in short slices, so that a look at thousands of processes never blocks the event loop for long.

interface Task {
  /** Does one step; true when the work is done. */
  step(): boolean;
}

export class Slices {
  readonly #sliceMs: number;
  readonly #tasks: Task[] = [];
  /** When this turn's slice ends; undefined if none has begun in this turn. */
  #endsAt: number | undefined;

  /** All work together gets `sliceMs` in each turn of the event loop, and at least one step. */
  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /**
   * Begins synchronously if this turn has time left and no other work is waiting. The oldest and the newest task alternate, a step each: a
   * short look need not wait for thousands of earlier ones to finish, and newer ones do not starve those.
   */
  run<T>(work: Iterator<void, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push({
        step: () => {
          try {
            const { done, value } = work.next();
            if (done === true) resolve(value);
            return done === true;
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
            return true;
          }
        },
      });
      if (this.#tasks.length === 1) this.#runSlice();
    });
  }

  #runSlice(): void {
    if (this.#endsAt === undefined) {
      this.#endsAt = performance.now() + this.#sliceMs;
      setImmediate(() => {
        this.#endsAt = undefined;
        if (this.#tasks.length > 0) this.#runSlice();
      });
    } else if (performance.now() >= this.#endsAt) return;
    for (let isNewest = false; this.#tasks.length > 0; isNewest = !isNewest) {
      const isDone = this.#tasks.at(isNewest ? -1 : 0)?.step();
      if (isDone === true && isNewest) this.#tasks.pop();
      else if (isDone === true) this.#tasks.shift();
      if (performance.now() >= this.#endsAt) return;
    }
  }
}
