// Long work in short pieces, so that a look at thousands of processes never keeps the event loop from everything else.

interface Task {
  /** Does one step; true when the work is over. */
  step(): boolean;
}

export class Slices {
  readonly #sliceMs: number;
  readonly #tasks: Task[] = [];
  /** When this turn's slice ends; undefined while none has begun in this turn. */
  #endsAt: number | undefined;

  /** All work together gets `sliceMs` in each turn of the event loop, and at least one step. */
  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /**
   * Begins before it returns if this turn has time left and no other work waits. The oldest and the newest work take turns, a step each: a
   * short look need not wait until the thousands before it are over, and these are not kept waiting by newer ones.
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
      const isOver = this.#tasks.at(isNewest ? -1 : 0)?.step();
      if (isOver === true && isNewest) this.#tasks.pop();
      else if (isOver === true) this.#tasks.shift();
      if (performance.now() >= this.#endsAt) return;
    }
  }
}
