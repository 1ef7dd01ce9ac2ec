// One end of a flow: bytes in two directions, next to the calls of a connection. Keeps what the peer has not acknowledged, so that it can
// be sent again over the next connection. Knows no messages and no connection.

import { type Deferred, deferred } from '../base/deferred.js';

/** The other end, as far as it can be reached now. */
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
  /** Bytes in one direction that may be sent before the peer's reader has taken them. */
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

interface Sent {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class Flow {
  readonly id: number;
  readonly #limits: FlowLimits;
  readonly #onDone: () => void;
  #peer: FlowPeer | undefined;
  #problem: string | undefined;
  #isDone = false;

  /** Sent and not acknowledged, oldest first. */
  #unacknowledged: Sent[] = [];
  #sentBytes = 0;
  #acknowledgedBytes = 0;
  #hasEnded = false;
  #room: Deferred<undefined> | undefined;

  /** Received and not read. */
  #unread: Uint8Array[] = [];
  #receivedBytes = 0;
  #readBytes = 0;
  #reportedBytes = 0;
  #incomingEnd: number | undefined;
  #arrival: Deferred<undefined> | undefined;

  constructor(id: number, limits: FlowLimits, onDone: () => void) {
    this.id = id;
    this.#limits = limits;
    this.#onDone = onDone;
  }

  /** Bytes received so far, read or not. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Bytes kept for either direction. */
  get heldBytes(): number {
    return this.#sentBytes - this.#acknowledgedBytes + this.#receivedBytes - this.#readBytes;
  }

  /** Resolves when more can be written. The bytes are kept until they are acknowledged, so the caller must not change them. */
  async write(bytes: Uint8Array): Promise<void> {
    const { windowBytes, frameBytes } = this.#limits;
    for (let at = 0; at < bytes.length; at += frameBytes) {
      while (this.#sentBytes - this.#acknowledgedBytes >= windowBytes) await this.#waitForRoom();
      this.#requireOpen();
      const frame = bytes.subarray(at, at + frameBytes);
      const sent = { offset: this.#sentBytes, bytes: frame };
      this.#unacknowledged.push(sent);
      this.#sentBytes += frame.length;
      if (this.#peer?.data(this.id, sent.offset, frame) === false) await this.#peer.ready();
    }
    this.#requireOpen();
  }

  /** Nothing more will be written. Idempotent. */
  end(): void {
    if (this.#hasEnded || this.#isDone) return;
    this.#hasEnded = true;
    this.#peer?.end(this.id, this.#sentBytes);
    this.#finishWhenComplete();
  }

  /** Undefined once the peer has ended and everything is read. Rejects with FlowResetError. One read at a time. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const next = this.#unread.shift();
      if (next !== undefined) {
        this.#readBytes += next.length;
        this.#acknowledge();
        return next;
      }
      if (this.#readBytes === this.#incomingEnd) return undefined;
      if (this.#problem !== undefined) throw new FlowResetError(this.#problem);
      this.#arrival ??= deferred<undefined>();
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
    this.#peer = peer;
    for (const { offset, bytes } of this.#unacknowledged) {
      const isReceived = offset + bytes.length <= peerReceivedBytes;
      const skipped = Math.max(0, peerReceivedBytes - offset);
      if (!isReceived) peer.data(this.id, offset + skipped, bytes.subarray(skipped));
    }
    if (this.#hasEnded) peer.end(this.id, this.#sentBytes);
    if (this.#readBytes > 0) this.#report();
  }

  /** The connection is lost; what is written waits for the next one. */
  detach(): void {
    this.#peer = undefined;
  }

  received(offset: number, bytes: Uint8Array): void {
    if (this.#isDone) return;
    const fresh = bytes.subarray(Math.max(0, this.#receivedBytes - offset));
    const isBeyond = this.#receivedBytes + fresh.length - this.#readBytes > this.#limits.windowBytes + this.#limits.frameBytes;
    if (offset > this.#receivedBytes || isBeyond) {
      return this.reset(`flow ${this.id} got bytes at ${offset}, expected at most a window of bytes at ${this.#receivedBytes}`);
    }
    if (fresh.length === 0) return;
    this.#unread.push(fresh);
    this.#receivedBytes += fresh.length;
    this.#wake();
  }

  acknowledged(offset: number): void {
    if (offset <= this.#acknowledgedBytes || offset > this.#sentBytes) return;
    this.#acknowledgedBytes = offset;
    const kept = this.#unacknowledged.findIndex((sent) => sent.offset + sent.bytes.length > offset);
    this.#unacknowledged.splice(0, kept < 0 ? this.#unacknowledged.length : kept);
    this.#room?.resolve(undefined);
    this.#room = undefined;
    this.#finishWhenComplete();
  }

  ended(offset: number): void {
    if (this.#isDone) return;
    if (offset !== this.#receivedBytes)
      return this.reset(`flow ${this.id} ended at ${offset}, but has ${this.#receivedBytes} bytes`);
    this.#incomingEnd = offset;
    this.#acknowledge();
    this.#wake();
  }

  /** The peer has reset the flow, or it cannot continue. What has arrived can still be read. */
  failed(problem: string): void {
    if (this.#isDone) return;
    this.#problem = problem;
    this.#unacknowledged = [];
    this.#acknowledgedBytes = this.#sentBytes;
    this.#room?.resolve(undefined);
    this.#room = undefined;
    this.#wake();
    this.#finish();
  }

  #waitForRoom(): Promise<undefined> {
    this.#requireOpen();
    this.#room ??= deferred<undefined>();
    return this.#room.promise;
  }

  #requireOpen(): void {
    if (this.#problem !== undefined) throw new FlowResetError(this.#problem);
  }

  #wake(): void {
    this.#arrival?.resolve(undefined);
    this.#arrival = undefined;
  }

  #acknowledge(): void {
    const isComplete = this.#readBytes === this.#incomingEnd;
    if (isComplete || this.#readBytes - this.#reportedBytes >= this.#limits.acknowledgeBytes) this.#report();
    this.#finishWhenComplete();
  }

  #report(): void {
    this.#reportedBytes = this.#readBytes;
    this.#peer?.acknowledge(this.id, this.#readBytes);
  }

  /** Complete: both directions have ended, and the readers of both have taken everything. */
  #finishWhenComplete(): void {
    const isSent = this.#hasEnded && this.#acknowledgedBytes === this.#sentBytes;
    if (isSent && this.#readBytes === this.#incomingEnd) this.#finish();
  }

  #finish(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#onDone();
  }
}
