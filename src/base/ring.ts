// A queue in one list that is used round and round. A list that is pushed to at one end and cut at the other is copied again and again, and
// the copies, themselves forgotten, keep what they refer to until V8 collects its old objects: 60 MB of output that nobody had any more.

const firstSlots = 4;

export class Ring<Item> implements Iterable<Item> {
  /** As many as a power of two, so that places wrap with a mask. Those not in use are undefined. */
  #slots: (Item | undefined)[] = [];
  #start = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The item at this place, counted from the oldest. */
  at(index: number): Item | undefined {
    return index < 0 || index >= this.#length ? undefined : this.#slots[(this.#start + index) & (this.#slots.length - 1)];
  }

  push(item: Item): void {
    if (this.#length === this.#slots.length) this.#grow();
    this.#slots[(this.#start + this.#length) & (this.#slots.length - 1)] = item;
    this.#length += 1;
  }

  /** Takes the oldest item out. */
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
