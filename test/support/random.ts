// Numbers that look random and are the same for the same seed, so that every case can be had again. For tests, long runs and simulations alike.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A stream of its own for one case: what one case draws does not change the next. */
  static forCase(seed: number, index: number): Random {
    const mixed = new Random((seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0);
    return new Random(mixed.below(2 ** 32));
  }

  /** From 0 up to and without 1. The generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to and without `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** A whole number between these two, both included. */
  whole(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** Many small ones and few large ones, up to `most`. */
  size(most: number): number {
    return Math.floor(most ** this.next());
  }

  chance(share: number): boolean {
    return this.below(1_000_000) < share * 1_000_000;
  }

  /** The list has something in it. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.below(256);
    return bytes;
  }
}
