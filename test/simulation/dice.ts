// Seeded chance. Every actor has its own dice, so that removing one actor from a scenario does not change the draws of the others: that is
// what lets a failing scenario shrink.

import { Random } from '../support/random.js';

/** How long things take: mostly no time at all, so that the dice decide the order, and sometimes very long. */
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

  /** From 0 inclusive to 1 exclusive. */
  next(): number {
    return this.#random.next();
  }

  /** An integer from 0 inclusive to `limit` exclusive. */
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
