// One end of a flow: bytes in two directions, next to the calls of a connection. Keeps what the peer has not acknowledged, so that it can
// be sent again over the next connection. Knows no messages and no connection.

import { type Deferred, deferred } from '../base/deferred.js';
import { ByteQueue } from './byte-queue.js';

/** The other end, as far as it can be reached now. It must not keep the bytes that it is given, unless nothing changes them. */
export interface FlowPeer {
  /** Returns false when the peer lags; the next bytes should wait until `ready` resolves. */
  data(flowId: number, offset: number, bytes: Uint8Array): boolean;
  acknowledge(flowId: number, offset: number): void;
  end(flowId: number, offset: number): void;
  reset(flowId: number, problem: string): void;
  /** Resolves when the peer has caught up and it is this flow's turn, or when it can no longer be reached. */
  ready(): Promise<void>;
}

export interface FlowLimits {
  /** Bytes in one direction that may be sent before the peer's reader has taken them. A sender exceeds it by less than one frame. */
  readonly windowBytes: number;
  /** Most bytes sent at once. */
  readonly frameBytes: number;
  /** The reader acknowledges after taking this many bytes. */
  readonly acknowledgeBytes: number;
}

/** The flow was ended before it was complete, by either side. */
export class FlowResetError extends Error {
  override readonly name = 'FlowResetError';
}

/** How a flow ended: what the peer must be told if it has missed the last messages. */
export interface FlowEnding {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Absent when it was complete. */
  readonly problem?: string;
}

/** Returned by a write that need not wait. */
const ready = Promise.resolve();

export class Flow {
  readonly id: number;
  readonly #limits: FlowLimits;
  readonly #onDone: (ending: FlowEnding) => void;
  readonly #over = deferred<string | undefined>();
  #peer: FlowPeer | undefined;
  #problem: string | undefined;
  #isDone = false;

  /** Written and not acknowledged. */
  readonly #outgoing = new ByteQueue();
  /** Offset up to which the current peer was sent the bytes. */
  #sentBytes = 0;
  /** The peer lags, so that what is written waits for it. */
  #isHeld = false;
  #hasEnded = false;
  #room: Deferred<void> | undefined;

  /** Received and not read. */
  readonly #incoming = new ByteQueue();
  #acknowledgedBytes = 0;
  #incomingEnd: number | undefined;
  #arrival: Deferred<void> | undefined;

  constructor(id: number, limits: FlowLimits, onDone: (ending: FlowEnding) => void) {
    this.id = id;
    this.#limits = limits;
    this.#onDone = onDone;
  }

  /** Resolves with undefined when the flow is complete, and with the problem when it is reset. */
  get over(): Promise<string | undefined> {
    return this.#over.promise;
  }

  /** Bytes received so far, read or not. */
  get receivedBytes(): number {
    return this.#incoming.end;
  }

  /** Bytes kept for either direction. */
  get heldBytes(): number {
    return this.#outgoing.length + this.#incoming.length;
  }

  /** Resolves when more can be written. The bytes are kept until they are acknowledged, so the caller must not change them. One write at a time. */
  write(bytes: Uint8Array): Promise<void> {
    const isShort = bytes.length <= this.#limits.frameBytes;
    if (!isShort || !this.hasRoom || this.#problem !== undefined || this.#hasEnded) return this.#writeInTurn(bytes);
    this.#outgoing.append(bytes);
    this.#send();
    return ready;
  }

  /** Whether a write need not wait for the peer's reader. */
  get hasRoom(): boolean {
    return this.#outgoing.length < this.#limits.windowBytes;
  }

  /** Resolves when there is room, or when nothing can be written any more. */
  async waitForRoom(): Promise<void> {
    while (!this.hasRoom) {
      this.#room ??= deferred<void>();
      await this.#room.promise;
    }
  }

  /** Nothing more will be written. Idempotent. */
  end(): void {
    if (this.#hasEnded || this.#isDone) return;
    this.#hasEnded = true;
    this.#send();
    this.#finishWhenComplete();
  }

  /** Undefined once the peer has ended and everything is read. Rejects with FlowResetError. One read at a time. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const next = this.#incoming.take();
      if (next !== undefined) {
        this.#acknowledge();
        return next;
      }
      if (this.#isAllRead) return undefined;
      if (this.#problem !== undefined) throw new FlowResetError(this.#problem);
      this.#arrival ??= deferred<void>();
      await this.#arrival.promise;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) yield chunk;
  }

  /** Ends both directions; the peer's reads and writes reject with this problem. Does nothing once the flow is complete. */
  reset(problem: string): void {
    if (this.#isDone) return;
    this.#peer?.reset(this.id, problem);
    this.failed(problem);
  }

  /** Connects to the peer, which has received this many bytes, and sends the rest again. */
  attach(peer: FlowPeer, peerReceivedBytes: number): void {
    const { start, end } = this.#outgoing;
    this.#peer = peer;
    this.#isHeld = false;
    if (peerReceivedBytes < start || peerReceivedBytes > end) {
      return this.reset(`flow ${this.id} cannot continue at ${peerReceivedBytes}, expected an offset from ${start} to ${end}`);
    }
    this.#sentBytes = peerReceivedBytes;
    if (this.#incoming.start > 0) this.#report();
    this.#send();
  }

  /** The connection is lost; what is written waits for the next one. */
  detach(): void {
    this.#peer = undefined;
  }

  /** Bytes from the peer. Those that were received before are ignored. */
  received(offset: number, bytes: Uint8Array): void {
    if (this.#isDone) return;
    const { end, length } = this.#incoming;
    const fresh = offset < end ? bytes.subarray(end - offset) : bytes;
    if (fresh.length === 0) return;
    const { windowBytes, frameBytes } = this.#limits;
    if (offset > end || length + fresh.length > windowBytes + frameBytes || this.#incomingEnd !== undefined) {
      const expected = this.#incomingEnd === undefined ? `at most a window of bytes at ${end}` : `none after the end at ${end}`;
      return this.reset(`flow ${this.id} got ${bytes.length} bytes at ${offset}, expected ${expected}`);
    }
    this.#incoming.append(fresh);
    this.#wake();
  }

  /** The peer's reader has taken everything before this offset. */
  acknowledged(offset: number): void {
    if (this.#isDone || offset <= this.#outgoing.start) return;
    if (offset > this.#sentBytes) {
      return this.reset(`flow ${this.id} got an acknowledgement of ${offset} bytes, but only ${this.#sentBytes} were sent`);
    }
    this.#outgoing.discard(offset);
    this.#makeRoom();
    this.#finishWhenComplete();
  }

  /** The peer will send nothing more. */
  ended(offset: number): void {
    if (this.#isDone) return;
    const { end } = this.#incoming;
    if (offset !== end) return this.reset(`flow ${this.id} ended at ${offset}, but ${end} bytes have arrived`);
    this.#incomingEnd = offset;
    this.#acknowledge();
    this.#wake();
  }

  /** The peer has reset the flow, or it cannot continue. What has arrived can still be read. */
  failed(problem: string): void {
    if (this.#isDone) return;
    this.#problem = problem;
    this.#outgoing.clear();
    this.#sentBytes = this.#outgoing.end;
    this.#makeRoom();
    this.#wake();
    this.#finish();
  }

  async #writeInTurn(bytes: Uint8Array): Promise<void> {
    const { frameBytes } = this.#limits;
    for (let at = 0; at < bytes.length; at += frameBytes) {
      await this.waitForRoom();
      this.#requireWritable();
      this.#outgoing.append(bytes.subarray(at, at + frameBytes));
      this.#send();
    }
    this.#requireWritable();
  }

  #requireWritable(): void {
    if (this.#problem !== undefined) throw new FlowResetError(this.#problem);
    if (this.#hasEnded) throw new Error(`flow ${this.id} has ended; nothing more can be written`);
  }

  /** Sends what was not sent yet, until the peer lags. */
  #send(): void {
    const peer = this.#peer;
    if (peer === undefined || this.#isHeld) return;
    while (this.#sentBytes < this.#outgoing.end) {
      const offset = this.#sentBytes;
      const frame = this.#outgoing.from(offset, this.#limits.frameBytes);
      this.#sentBytes += frame.length;
      if (!peer.data(this.id, offset, frame)) return this.#hold(peer);
    }
    if (this.#hasEnded && !this.#isDone) peer.end(this.id, this.#sentBytes);
  }

  #hold(peer: FlowPeer): void {
    this.#isHeld = true;
    void peer.ready().then(() => {
      if (this.#peer !== peer) return;
      this.#isHeld = false;
      this.#send();
    });
  }

  get #isAllRead(): boolean {
    return this.#incoming.start === this.#incomingEnd;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #wake(): void {
    this.#arrival?.resolve();
    this.#arrival = undefined;
  }

  #acknowledge(): void {
    const unreported = this.#incoming.start - this.#acknowledgedBytes;
    if (this.#isAllRead || unreported >= this.#limits.acknowledgeBytes) this.#report();
    this.#finishWhenComplete();
  }

  #report(): void {
    this.#acknowledgedBytes = this.#incoming.start;
    this.#peer?.acknowledge(this.id, this.#acknowledgedBytes);
  }

  /** Complete: both directions have ended, and the readers of both have taken everything. */
  #finishWhenComplete(): void {
    if (this.#hasEnded && this.#outgoing.length === 0 && this.#isAllRead) this.#finish();
  }

  #finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#over.resolve(this.#problem);
    const problem = this.#problem === undefined ? {} : { problem: this.#problem };
    this.#onDone({ receivedBytes: this.#incoming.end, sentBytes: this.#outgoing.end, ...problem });
  }
}
