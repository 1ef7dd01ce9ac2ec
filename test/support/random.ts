// Pseudo-random numbers that are the same for the same seed, so that every case can be reproduced. For tests, long runs and simulations.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An independent stream for one case, so that what it draws does not affect the next. */
  static forCase(seed: number, index: number): Random {
    const mixed = new Random((seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0);
    return new Random(mixed.below(2 ** 32));
  }

  /** From 0 inclusive to 1 exclusive. The generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 inclusive to `limit` exclusive. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** An integer between these two, both inclusive. */
  whole(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** Many small values and few large ones, up to `most`. */
  size(most: number): number {
    return Math.floor(most ** this.next());
  }

  chance(share: number): boolean {
    return this.below(1_000_000) < share * 1_000_000;
  }

  /** The list must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.below(256);
    return bytes;
  }
}
