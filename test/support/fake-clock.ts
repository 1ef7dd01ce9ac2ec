// Time that moves only when a test says so.

import type { Clock, Timer } from '#src/base/clock.js';

/** Event loop turns to allow for what a timer triggers: streams and promises settle in fewer. */
const turns = 5;

interface Waiting {
  readonly dueAt: number;
  readonly fire: () => void;
}

export class FakeClock implements Clock {
  #now = 0;
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  after(ms: number, fire: () => void): Timer {
    const waiting = { dueAt: this.#now + ms, fire };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  afterIdle(ms: number, fire: () => void): Timer {
    return this.after(ms, fire);
  }

  /** How long each running timer still has to wait, in milliseconds, shortest first. */
  get pendingMs(): number[] {
    return [...this.#waiting].map(({ dueAt }) => dueAt - this.#now).toSorted((one, other) => one - other);
  }

  /** Advances time: fires due timers in order, and lets everything settle that each one triggers. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#nextDue(until); next !== undefined; next = this.#nextDue(until)) {
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.fire();
      await settle();
    }
    this.#now = until;
  }

  /** Advances time in one step, as for a suspended program: everything due fires before anything else runs. */
  skip(ms: number): void {
    this.#now += ms;
    for (let next = this.#nextDue(this.#now); next !== undefined; next = this.#nextDue(this.#now)) {
      this.#waiting.delete(next);
      next.fire();
    }
  }

  /** Timers due at the same time fire in the order they were set. */
  #nextDue(until: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const each of this.#waiting) if (each.dueAt <= until && (next === undefined || each.dueAt < next.dueAt)) next = each;
    return next;
  }
}

/** Lets promises and immediate callbacks run without advancing time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
