// What is on its way to the peer through a Node writable: written at once, counted, and waited for when the peer lags.

import { nextTick } from 'node:process';
import type { Writable } from 'node:stream';
import { DrainGate, highWaterBytes } from './lag.js';

/** Bytes that small messages are gathered up to, so that they go out in one system call instead of many. More would gain nothing. */
const gatheredBytes = 64 * 1024;

/** A longer message gets a buffer of its own. A full chunk as base64 fits. */
const scratchBytes = 128 * 1024;

/** A shorter one is cut from Node's own pool. */
const pooledBytes = 4 * 1024;

/** For messages that the system takes at once, which nearly all are: the same warm memory again and again, and nothing to collect. */
let scratch: Buffer | undefined;

/** The first message of a turn goes out at once. Those that follow before the turn is over go out together at its end. */
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

  /** A string counts its UTF-16 units while it waits. */
  get queuedBytes(): number {
    return this.#writable.writableLength;
  }

  /** Text goes out as UTF-8. False when the peer lags, or nothing can be sent any more. */
  write(content: string | Uint8Array): boolean {
    if (this.#isClosed) return false;
    this.#gather();
    this.#writable.write(content);
    return this.#keepsUp();
  }

  /** A message of this length that is written where it is told. */
  compose({ length, write }: { readonly length: number; readonly write: (room: Buffer) => void }): boolean {
    if (this.#isClosed) return false;
    const isShared = length > pooledBytes && length <= scratchBytes;
    const room = isShared ? (scratch ??= Buffer.allocUnsafeSlow(scratchBytes)).subarray(0, length) : Buffer.allocUnsafe(length);
    write(room);
    const keepsUp = this.write(room);
    if (isShared && this.queuedBytes > 0) scratch = undefined; // this or an earlier message is still to be taken
    return keepsUp;
  }

  drained(): Promise<void> {
    return this.#isClosed || !this.#lags ? Promise.resolve() : this.#gate.wait();
  }

  /** Nothing more is taken, and nobody waits any longer; what was written may still be on its way. */
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

  /** A stream with a mark of its own above ours promises to tell when it has drained only beyond that one. */
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
