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

  /** Begins before it returns if this turn has time left and no earlier work waits. Works are done one after another; each yields after a step. */
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
    // A task stays in the list until it is over, so that a task it leads to does not begin inside it.
    for (let [task] = this.#tasks; task !== undefined; [task] = this.#tasks) {
      if (task.step()) this.#tasks.shift();
      if (performance.now() >= this.#endsAt) return;
    }
  }
}
