// What is on its way to the peer through a Node writable: written at once, counted, and waited for when the peer lags.

import type { Writable } from 'node:stream';
import { DrainGate, highWaterBytes } from './lag.js';

export class Outbox {
  readonly #writable: Writable;
  readonly #gate = new DrainGate();
  #isClosed = false;

  constructor(writable: Writable) {
    this.#writable = writable;
    writable.on('drain', () => this.#gate.open());
  }

  /** A string counts its UTF-16 units while it waits. */
  get queuedBytes(): number {
    return this.#writable.writableLength;
  }

  /** Text goes out as UTF-8. False when the peer lags, or nothing can be sent any more. */
  write(content: string | Uint8Array): boolean {
    if (this.#isClosed) return false;
    this.#writable.write(content);
    return this.queuedBytes <= highWaterBytes;
  }

  /** Two parts in one system call, without joining them. They must not change before they are sent. */
  writeBoth(head: Uint8Array, body: Uint8Array): boolean {
    if (this.#isClosed) return false;
    this.#writable.cork();
    this.#writable.write(head);
    this.#writable.write(body);
    this.#writable.uncork();
    return this.queuedBytes <= highWaterBytes;
  }

  drained(): Promise<void> {
    return this.#isClosed || this.queuedBytes <= highWaterBytes ? Promise.resolve() : this.#gate.wait();
  }

  /** Nothing more is taken, and nobody waits any longer; what was written may still be on its way. */
  close(): void {
    this.#isClosed = true;
    this.#gate.open();
  }
}
