// Sends messages through a Node writable: writes them immediately, counts the queued bytes, and lets senders wait when the peer lags. The
// rest of a long message waits unwritten, so that it takes no more memory than its bytes.

import { Socket } from 'node:net';
import { nextTick } from 'node:process';
import type { Writable } from 'node:stream';
import { DrainGate, highWaterBytes } from './lag.js';

/** Small messages are batched up to this many bytes, so that one system call sends them. A larger batch gains nothing. */
const gatheredBytes = 64 * 1024;

/** A longer message is sent in pieces, or gets a separate buffer. A full chunk as base64 fits. */
export const scratchBytes = 128 * 1024;

/** A message up to this size is allocated from Node's own pool. */
const pooledBytes = 4 * 1024;

/** Buffers that wait to be reused: 4 MiB, as much as is queued for a peer before its replies wait. */
const mostScratches = 32;

/** Of `scratchBytes` each, for messages and pieces that the system has copied: the memory stays warm, and there is no garbage to collect. */
const scratches: Buffer[] = [];

/** A message, or a piece of one, to be written into a buffer of exactly `length` bytes. */
export interface Unwritten {
  readonly length: number;
  readonly write: (room: Buffer) => void;
}

/** What waits until the peer has taken what was sent before. */
interface Waiting {
  readonly length: number;
  readonly send: () => void;
}

/** The first message of an event loop turn is sent at once; the others in that turn are sent together at its end. */
export class Outbox {
  readonly #writable: Writable;
  readonly #gate = new DrainGate();
  /** Whether the system copies what is written; any other writable may pass the same memory on to its reader. */
  readonly #copies: boolean;
  /** The rest of a long message, and what was sent after it. */
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isClosed = false;
  #hasSentThisTurn = false;
  #isGathering = false;

  constructor(writable: Writable) {
    this.#writable = writable;
    this.#copies = writable instanceof Socket;
    writable.on('drain', () => this.#continue());
  }

  /** A queued string counts in UTF-16 units. 0 after `close`, because nothing waits for these bytes then: see `drained`. */
  get queuedBytes(): number {
    return this.#isClosed ? 0 : this.#writable.writableLength + this.#waitingBytes;
  }

  /** Text is sent as UTF-8. False when the peer lags, or after `close`. */
  write(content: string | Uint8Array, onSent?: () => void): boolean {
    if (this.#isClosed) return false;
    if (this.#waiting.length === 0) this.#send(content, onSent);
    else this.#wait({ length: content.length, send: () => this.#send(content, onSent) });
    return !this.#lags;
  }

  /** Sends a message. */
  compose(message: Unwritten): boolean {
    if (this.#isClosed) return false;
    if (this.#waiting.length > 0) return this.write(written(message));
    this.#compose(message);
    return !this.#lags;
  }

  /** Sends one message in pieces. `asTaken`: while the peer lags, the rest waits unwritten. */
  composeAll(pieces: readonly Unwritten[], when: 'now' | 'asTaken'): boolean {
    if (this.#isClosed) return false;
    for (const piece of pieces) {
      if (when === 'now') this.compose(piece);
      else if (this.#lags) this.#wait({ length: piece.length, send: () => this.#compose(piece) });
      else this.#compose(piece);
    }
    return !this.#lags;
  }

  drained(): Promise<void> {
    return this.#isClosed || !this.#lags ? Promise.resolve() : this.#gate.wait();
  }

  /** Refuses further messages and releases waiting senders. What was already sent may still be queued. */
  close(): void {
    for (const { send } of this.#waiting.splice(0)) send();
    this.#closed();
  }

  /** Like `close`, when nothing can be sent any more. */
  discard(): void {
    this.#waiting.length = 0;
    this.#closed();
  }

  #closed(): void {
    this.#waitingBytes = 0;
    this.#isClosed = true;
    this.#gate.open();
  }

  #continue(): void {
    while (!this.#isFull) {
      const next = this.#waiting.shift();
      if (next === undefined) return this.#gate.open();
      this.#waitingBytes -= next.length;
      next.send();
    }
  }

  #wait(content: Waiting): void {
    this.#waiting.push(content);
    this.#waitingBytes += content.length;
  }

  #compose(message: Unwritten): void {
    const isReusable = this.#copies && message.length > pooledBytes && message.length <= scratchBytes;
    if (!isReusable) return this.#send(written(message));
    const scratch = scratches.pop() ?? Buffer.allocUnsafeSlow(scratchBytes);
    const room = scratch.subarray(0, message.length);
    message.write(room);
    const reuse = once(() => keepScratch(scratch));
    this.#send(room, reuse);
    if (this.#writable.writableLength === 0) reuse(); // at once, as for nearly all messages: the callback comes at the end of the turn
  }

  #send(content: string | Uint8Array, onSent?: () => void): void {
    this.#gather();
    this.#writable.write(content, onSent);
    if (this.#writable.writableLength >= gatheredBytes) this.#release();
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

  get #lags(): boolean {
    return this.#waiting.length > 0 || this.#isFull;
  }

  /** Also checks `writableNeedDrain`: a stream with a higher mark than ours emits 'drain' only after its own mark was exceeded. */
  get #isFull(): boolean {
    return this.#writable.writableLength > highWaterBytes && this.#writable.writableNeedDrain;
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

function written({ length, write }: Unwritten): Buffer {
  const room = Buffer.allocUnsafe(length);
  write(room);
  return room;
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

function keepScratch(scratch: Buffer): void {
  if (scratches.length < mostScratches) scratches.push(scratch);
}
