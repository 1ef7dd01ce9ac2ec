// Sends messages through a Node writable: writes them immediately, counts the queued bytes, and lets senders wait when the peer lags.

import { nextTick } from 'node:process';
import type { Writable } from 'node:stream';
import { DrainGate, highWaterBytes } from './lag.js';

/** Small messages are batched up to this many bytes, so that one system call sends them. A larger batch gains nothing. */
const gatheredBytes = 64 * 1024;

/** A longer message gets a separate buffer. A full chunk as base64 fits. */
const scratchBytes = 128 * 1024;

/** A message up to this size is allocated from Node's own pool. */
const pooledBytes = 4 * 1024;

/** Reused for messages that the system accepts at once, as nearly all are: the memory stays warm, and there is no garbage to collect. */
let scratch: Buffer | undefined;

/** The first message of an event loop turn is sent at once; the others in that turn are sent together at its end. */
export class Outbox {
  readonly #writable: Writable;
  readonly #gate = new DrainGate();
  #isClosed = false;
  #hasSentThisTurn = false;
  #isGathering = false;

  constructor(writable: Writable) {
    this.#writable = writable;
    writable.on('drain', () => this.#gate.open());
  }

  /** A queued string counts in UTF-16 units. */
  get queuedBytes(): number {
    return this.#writable.writableLength;
  }

  /** Text is sent as UTF-8. False when the peer lags, or after `close`. */
  write(content: string | Uint8Array): boolean {
    if (this.#isClosed) return false;
    this.#gather();
    this.#writable.write(content);
    return this.#keepsUp();
  }

  /** Sends a message of `length` bytes, which `write` puts into the given buffer. */
  compose({ length, write }: { readonly length: number; readonly write: (room: Buffer) => void }): boolean {
    if (this.#isClosed) return false;
    const isShared = length > pooledBytes && length <= scratchBytes;
    const room = isShared ? (scratch ??= Buffer.allocUnsafeSlow(scratchBytes)).subarray(0, length) : Buffer.allocUnsafe(length);
    write(room);
    const keepsUp = this.write(room);
    if (isShared && this.queuedBytes > 0) scratch = undefined; // this or an earlier message is still queued
    return keepsUp;
  }

  drained(): Promise<void> {
    return this.#isClosed || !this.#lags ? Promise.resolve() : this.#gate.wait();
  }

  /** Refuses further messages and releases waiting senders. What was already written may still be queued. */
  close(): void {
    this.#isClosed = true;
    this.#gate.open();
  }

  #gather(): void {
    if (!this.#hasSentThisTurn) {
      this.#hasSentThisTurn = true;
      nextTick(this.#endTurn);
    } else if (!this.#isGathering) {
      this.#isGathering = true;
      this.#writable.cork();
    }
  }

  #keepsUp(): boolean {
    if (this.queuedBytes >= gatheredBytes) this.#release();
    return !this.#lags;
  }

  /** Also checks `writableNeedDrain`: a stream with a higher mark than ours emits 'drain' only after its own mark was exceeded. */
  get #lags(): boolean {
    return this.queuedBytes > highWaterBytes && this.#writable.writableNeedDrain;
  }

  readonly #endTurn = (): void => {
    this.#hasSentThisTurn = false;
    this.#release();
  };

  #release(): void {
    if (!this.#isGathering) return;
    this.#isGathering = false;
    this.#writable.uncork();
  }
}
