// Time, order, chance and the trace of one simulation. Everything that happens later, whether a timer of the code under test, a message in
// flight or a step of a program, is an event here; promises settle between two events. Knows nothing of what it runs.

import type { Clock, Timer } from '#src/base/clock.js';
import { Dice } from './dice.js';

interface Event {
  readonly dueAt: number;
  /** Decides between events that are due at the same time. */
  readonly order: number;
  readonly happen: () => void;
}

/** Far above what the longest scenario takes, so that reaching it means an endless loop. */
const mostEvents = 60_000;

/** Less than the 5 s after which a process that does not die is called a survivor. */
const longBlindMs = 4_000;

export class World implements Clock {
  readonly #seed: number;
  readonly #order: Dice;
  readonly #events = new Set<Event>();
  readonly #checks: (() => void)[] = [];
  readonly #trace: string[] | undefined;
  #now = 0;
  #count = 0;
  #failure: string | undefined;
  /** How many times a program was affected: started, written to, signalled, held. A connection that may do nothing must not change it. */
  effects = 0;
  /** No more faults: from here on nothing takes long and nothing fails. */
  isCalm = false;
  /** Until then the process table cannot be read. */
  #blindUntil = 0;
  #blindMs = 0;

  constructor(seed: number, options: { readonly traced: boolean }) {
    this.#seed = seed;
    this.#order = this.dice('order');
    this.#trace = options.traced ? [] : undefined;
  }

  dice(actor: string): Dice {
    return new Dice(this.#seed, actor);
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  after(ms: number, fire: () => void): Timer {
    const event = { dueAt: this.#now + Math.max(0, ms), order: this.#order.next(), happen: fire };
    this.#events.add(event);
    return { cancel: () => void this.#events.delete(event) };
  }

  afterIdle(ms: number, fire: () => void): Timer {
    return this.after(ms, fire);
  }

  /** Schedules something after a delay that the dice decide. */
  soon(dice: Dice, happen: () => void): Timer {
    const delayMs = dice.delayMs();
    return this.after(this.isCalm ? Math.min(delayMs, 1) : delayMs, happen);
  }

  /** Makes the process table unreadable for a while, as when no descriptors are left. */
  blind(ms: number): void {
    this.#blindUntil = Math.max(this.#blindUntil, this.#now + ms);
    this.#blindMs += ms;
  }

  get isBlind(): boolean {
    return this.#now < this.#blindUntil && !this.isCalm;
  }

  /** Whether it was blind for so long that the code under test may have given up on processes that it could not see. */
  get wasBlindForLong(): boolean {
    return this.#blindMs >= longBlindMs;
  }

  /** Events that are still pending. */
  get pendingCount(): number {
    return this.#events.size;
  }

  get eventCount(): number {
    return this.#count;
  }

  /** Runs after every event, once all promises have settled. */
  addCheck(check: () => void): void {
    this.#checks.push(check);
  }

  /** Records the first broken promise. Does not throw, because the code under test might catch it. */
  fail(problem: string): void {
    this.#failure ??= withoutIds(problem);
    this.note(() => `BROKEN: ${problem}`);
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  note(line: () => string): void {
    this.#trace?.push(`${String(this.#now).padStart(7)} ms  ${withoutIds(line())}`);
  }

  /** Empty unless traced. */
  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  /** Runs events until `isDone`, but no longer than this; stops at the first failure. Resolves to whether it is done. */
  async run(isDone: () => boolean, limitMs: number): Promise<boolean> {
    const until = this.#now + limitMs;
    await settled();
    while (this.#failure === undefined && !isDone()) {
      const next = this.#next();
      if (next === undefined || next.dueAt > until) {
        this.#now = until;
        return isDone();
      }
      this.#events.delete(next);
      this.#now = next.dueAt;
      this.#count += 1;
      if (this.#count > mostEvents) this.fail('it loops endlessly');
      next.happen();
      await settled();
      for (const check of this.#checks) check();
    }
    return this.#failure === undefined;
  }

  #next(): Event | undefined {
    let next: Event | undefined;
    for (const each of this.#events) {
      if (next === undefined || each.dueAt < next.dueAt || (each.dueAt === next.dueAt && each.order < next.order)) next = each;
    }
    return next;
  }
}

/** Ids that the code under test generates differ in every run; only their length matters, and that is always the same. */
function withoutIds(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>');
}

/** Promises settle before the event loop turns; nothing under test waits for the loop itself. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
