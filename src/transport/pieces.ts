// Collects a message that arrives in pieces and joins them once, so that neither long messages nor tiny pieces are slow.

import { joinBytes } from '../base/join-bytes.js';

/** Smaller pieces are copied together as they arrive: a message sent byte by byte would otherwise cost a hundred times its length. */
const smallPieceBytes = 4096;

export class Pieces {
  #parts: Uint8Array[] = [];
  #length = 0;
  /** Collects small pieces until it is full or a large piece arrives; `#collected` bytes of it are used. */
  #collector: Uint8Array | undefined;
  #collected = 0;

  get length(): number {
    return this.#length;
  }

  /** Keeps the first piece and large ones without copying. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return; // a peer may send any number of empty pieces, so none may use memory
    const isKept = this.#length === 0 || piece.length >= smallPieceBytes;
    this.#length += piece.length;
    if (isKept) {
      this.#finishCollector();
      this.#parts.push(piece);
      return;
    }
    for (let rest = piece; rest.length > 0;) rest = this.#collect(rest);
  }

  /** Returns the message, whose last piece this is, and starts the next one. */
  takeWith(last: Uint8Array): Uint8Array {
    if (this.#length === 0) return last;
    this.#finishCollector();
    const whole = joinBytes([...this.#parts, last]);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#parts = [];
    this.#length = 0;
    this.#collector = undefined;
    this.#collected = 0;
  }

  /** Returns the part that did not fit. */
  #collect(piece: Uint8Array): Uint8Array {
    this.#collector ??= new Uint8Array(smallPieceBytes);
    const taken = piece.subarray(0, smallPieceBytes - this.#collected);
    this.#collector.set(taken, this.#collected);
    this.#collected += taken.length;
    if (this.#collected === smallPieceBytes) this.#finishCollector();
    return piece.subarray(taken.length);
  }

  #finishCollector(): void {
    if (this.#collector === undefined) return;
    this.#parts.push(this.#collector.subarray(0, this.#collected));
    this.#collector = undefined;
    this.#collected = 0;
  }
}
