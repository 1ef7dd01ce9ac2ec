// A queue in a circular buffer. An array that is pushed at one end and shifted at the other is copied repeatedly, and the discarded copies
// keep their items alive until V8 collects its old generation: 60 MB of output that was no longer in use.

const firstSlots = 4;

export class Ring<Item> implements Iterable<Item> {
  /** The length is a power of two, so that indexes wrap with a mask. Unused slots are undefined. */
  #slots: (Item | undefined)[] = [];
  #start = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The item at this index, counted from the oldest. */
  at(index: number): Item | undefined {
    return index < 0 || index >= this.#length ? undefined : this.#slots[(this.#start + index) & (this.#slots.length - 1)];
  }

  push(item: Item): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#slots[(this.#start + this.#length) & (this.#slots.length - 1)] = item;
    this.#length += 1;
  }

  /** Removes and returns the oldest item. */
  shift(): Item | undefined {
    const item = this.at(0);
    if (this.#length === 0) return item;
    this.#slots[this.#start] = undefined;
    this.#start = (this.#start + 1) & (this.#slots.length - 1);
    this.#length -= 1;
    return item;
  }

  *[Symbol.iterator](): Generator<Item> {
    for (let index = 0; index < this.#length; index += 1) {
      const item = this.at(index);
      if (item !== undefined) yield item;
    }
  }

  #grow(): void {
    const items = [...this];
    const slots = Math.max(firstSlots, items.length * 2);
    this.#slots = Array.from({ length: slots }, (_, index) => items[index]);
    this.#start = 0;
  }
}
