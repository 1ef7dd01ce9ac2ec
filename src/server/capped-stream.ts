// One stream of a one-shot command: bytes up to a cap are passed on, the rest are counted and discarded.

import { joinBytes } from '../base/join-bytes.js';

export interface Passed {
  readonly bytes: Uint8Array;
  /** The output exceeded the cap; nothing is passed on after this. */
  readonly capReached: boolean;
}

export class CappedStream {
  readonly #capBytes: number;
  #totalBytes = 0;

  constructor(capBytes: number) {
    this.#capBytes = capBytes;
  }

  /** The part of these bytes within the cap; undefined when there is nothing to report. Output of exactly the cap has not reached it. */
  pass(bytes: Uint8Array): Passed | undefined {
    const before = this.#totalBytes;
    this.#totalBytes += bytes.length;
    if (before > this.#capBytes || bytes.length === 0) return undefined;
    return { bytes: bytes.subarray(0, this.#capBytes - before), capReached: this.capReached };
  }

  get capReached(): boolean {
    return this.#totalBytes > this.#capBytes;
  }

  /** Bytes written in total, including those beyond the cap. */
  get totalBytes(): number {
    return this.#totalBytes;
  }
}

/** Collects the passed-on bytes for a reply. */
export class KeptText {
  readonly #parts: Uint8Array[] = [];

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
  }

  /** Invalid UTF-8 is replaced; a byte order mark is kept. */
  text(): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(joinBytes(this.#parts));
  }
}
