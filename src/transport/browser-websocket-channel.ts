// A Channel over the WebSocket class of browsers, and of Node since 22. Such a WebSocket cannot be paused.

import { type Clock, systemClock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import { type MessageParts, joinParts } from '../rpc/json-parts.js';
import { ConnectError } from './connect-error.js';
import { Inbox } from './inbox.js';
import { DrainGate, highWaterBytes, lowWaterBytes } from './lag.js';
import { binaryMessage, closeArguments, endOfWebSocket, readBinaryMessage } from './websocket-message.js';

/** The part of the WebSocket API that is used. */
export interface WebSocketLike {
  readonly bufferedAmount: number;
  binaryType: string;
  send(content: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'error', listener: (event: object) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number; readonly reason: string }) => void): void;
}

export interface BrowserWebSocketChannelOptions {
  readonly peer: string;
  /** The channel closes when more than this has arrived and is held back for the listener. */
  readonly maxHeldBytes: number;
  readonly clock?: Clock;
}

/** How long a close waits for the peer to receive what was sent and to close too. */
const closePatienceMs = 5_000;

/** How often `bufferedAmount` is polled while a sender waits; browsers have no drain event. */
const drainPollMs = 4;

/** Waits for a new WebSocket to open. Rejects with a ConnectError when it closes instead; to give up, the caller closes the WebSocket. */
export async function openBrowserWebSocketChannel(
  socket: WebSocketLike,
  options: BrowserWebSocketChannelOptions,
): Promise<BrowserWebSocketChannel> {
  const channel = new BrowserWebSocketChannel(socket, options);
  const opened = deferred<undefined>();
  socket.addEventListener('open', () => opened.resolve(undefined));
  const end = await Promise.race([opened.promise, channel.closed]);
  if (end === undefined) return channel;
  throw new ConnectError(`could not connect to ${options.peer}: ${end.problem ?? 'closed immediately'}`);
}

/** Owns the WebSocket. */
export class BrowserWebSocketChannel implements Channel {
  readonly peer: string;
  readonly #socket: WebSocketLike;
  readonly #maxHeldBytes: number;
  readonly #clock: Clock;
  readonly #inbox = new Inbox();
  readonly #gate = new DrainGate();
  readonly #ended = deferred<ChannelEnd>();
  #state: 'open' | 'closing' | 'closed' = 'open';
  #problem: string | undefined;
  #timer: Timer | undefined;

  /** Takes a WebSocket that is open or connecting. Do not send before it is open. */
  constructor(socket: WebSocketLike, { peer, maxHeldBytes, clock = systemClock }: BrowserWebSocketChannelOptions) {
    this.peer = peer;
    this.#socket = socket;
    this.#maxHeldBytes = maxHeldBytes;
    this.#clock = clock;
    socket.binaryType = 'arraybuffer'; // a Blob is read asynchronously, which loses the order; non-browser WebSockets have other defaults
    socket.addEventListener('message', ({ data }) => this.#received(data));
    socket.addEventListener('error', (event) => this.#failed(problemOf(event)));
    socket.addEventListener('close', ({ code, reason }) => this.#closed(endOfWebSocket(code, reason)));
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#state === 'open' ? this.#socket.bufferedAmount : 0;
  }

  listen(listener: ChannelListener): void {
    this.#inbox.listen(listener);
  }

  send(text: string): boolean {
    return this.#send(text);
  }

  sendParts(parts: MessageParts): boolean {
    return this.#send(joinParts(parts));
  }

  sendBinary(...frame: BinaryParts): boolean {
    return this.#send(binaryMessage(frame));
  }

  drained(): Promise<void> {
    if (this.#state !== 'open' || this.queuedBytes <= highWaterBytes) return Promise.resolve();
    if (!this.#gate.isAwaited) this.#pollUntilDrained();
    return this.#gate.wait();
  }

  pause(): void {
    this.#inbox.pause();
  }

  resume(): void {
    this.#inbox.resume();
  }

  close(problem?: string, sense?: 'goodbye'): void {
    this.#inbox.close();
    if (this.#state !== 'open') return;
    this.#problem ??= problem;
    this.#startClosing();
    this.#socket.close(...closeArguments(problem, sense));
  }

  #send(content: string | Uint8Array<ArrayBuffer>): boolean {
    if (this.#state !== 'open') return false;
    this.#socket.send(content);
    return this.queuedBytes <= highWaterBytes;
  }

  #pollUntilDrained(): void {
    this.#timer = this.#clock.after(drainPollMs, () => {
      if (this.queuedBytes <= lowWaterBytes) this.#gate.open();
      if (this.#gate.isAwaited) this.#pollUntilDrained();
    });
  }

  #received(content: unknown): void {
    if (typeof content === 'string') this.#inbox.message(content);
    else if (content instanceof ArrayBuffer) readBinaryMessage(new Uint8Array(content), this.#inbox);
    else this.#inbox.unreadable('a message is neither text nor bytes');
    if (this.#inbox.heldBytes > this.#maxHeldBytes) {
      this.close(`the peer sent more than ${this.#maxHeldBytes} bytes while this side was not reading`);
    }
  }

  /** A WebSocket that failed closes without our help; it gets as much time as after our own close. */
  #failed(problem: string): void {
    this.#problem ??= problem;
    if (this.#state === 'open') this.#startClosing();
  }

  #startClosing(): void {
    this.#state = 'closing';
    this.#gate.open();
    this.#timer?.cancel();
    this.#timer = this.#clock.afterIdle(closePatienceMs, () => this.#closed({ problem: 'the peer did not answer the close' }));
  }

  #closed(end: ChannelEnd): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#timer?.cancel();
    this.#gate.open();
    const problem = this.#problem;
    this.#inbox.end(() => this.#ended.resolve(problem === undefined ? end : { problem }));
  }
}

/** Browsers withhold the cause of a failure on purpose; other implementations have a message. */
function problemOf(event: object): string {
  const message = 'message' in event && typeof event.message === 'string' ? event.message : '';
  return message === '' ? 'the connection failed' : message;
}
