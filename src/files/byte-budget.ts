// How many bytes may be held at once, shared by all who hold them. A request that does not fit waits its turn.

/** Bytes taken from a budget. Releasing them twice is harmless. */
export interface ByteLease {
  /** The holder has come to hold more than it asked for. Never waits: to wait while holding could block every holder for ever. */
  grow(bytes: number): void;
  release(): void;
}

export class ByteBudget {
  readonly #bytes: number;
  readonly #waiting: { readonly bytes: number; readonly start: () => void }[] = [];
  #held = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get heldBytes(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** In the order of the calls. More than the whole budget is granted once everything has been returned. */
  async take(bytes: number): Promise<ByteLease> {
    const lease = this.takeNow(bytes);
    if (lease !== undefined) return lease;
    await new Promise<void>((start) => this.#waiting.push({ bytes, start })); // its bytes are counted when it is let through
    return this.#lease(bytes);
  }

  /** Undefined when that would mean to wait. */
  takeNow(bytes: number): ByteLease | undefined {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return undefined;
    this.#held += bytes;
    return this.#lease(bytes);
  }

  #lease(taken: number): ByteLease {
    let bytes = taken;
    return {
      grow: (more) => {
        bytes += more;
        this.#held += more;
      },
      release: () => {
        this.#held -= bytes;
        bytes = 0;
        this.#startNext();
      },
    };
  }

  #startNext(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#held += next.bytes;
      next.start();
    }
  }

  #fits(bytes: number): boolean {
    return this.#held === 0 || this.#held + bytes <= this.#bytes;
  }
}
