// Seeded luck. Every actor throws dice of its own, so that taking one actor out of a scenario leaves the luck of the others as
// it was: that is what lets a failing scenario shrink.

import { Random } from '../support/random.js';

/** How long things take: mostly no time at all, so that the order is decided by the dice, and sometimes very long. */
const delays = [
  { share: 0.6, upToMs: 0 },
  { share: 0.3, upToMs: 3 },
  { share: 0.085, upToMs: 50 },
  { share: 0.015, upToMs: 2_000 },
] as const;

export class Dice {
  readonly #random: Random;

  constructor(seed: number, actor: string) {
    let hash = 0x811c9dc5 ^ seed;
    for (let at = 0; at < actor.length; at += 1) hash = Math.imul(hash ^ actor.charCodeAt(at), 0x01000193);
    this.#random = new Random(hash);
  }

  /** From 0 up to, but not, 1. */
  next(): number {
    return this.#random.next();
  }

  /** A whole number from 0 up to, but not, the limit. */
  below(limit: number): number {
    return this.#random.below(limit);
  }

  delayMs(): number {
    let rest = this.next();
    for (const { share, upToMs } of delays) {
      if (rest < share) return this.below(upToMs + 1);
      rest -= share;
    }
    return 0;
  }
}
