// The server's side of a WebSocket as a Channel. `ws` reads, answers pings and closes; messages are framed here and go straight to the
// socket, which is safe because they are whole frames without compression, between those that `ws` sends.

import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { type Clock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { partsLength, writeParts } from './message-parts.js';
import { Outbox } from './outbox.js';
import { binaryFrameHeader, startTextFrame, textFrame, textFrameLength } from './websocket-frame.js';
import { closeArguments, endOfWebSocket, readBinaryMessage } from './websocket-message.js';

/** Longest a close waits until the peer has taken what was sent and has closed too. */
const closePatienceMs = 5_000;

/** Pings for which a peer may say nothing while it has yet to read what was sent before the first of them. Readers may be slow; the dead are silent for good. */
const slowReaderRounds = 4;

export interface WebSocketServerChannelOptions {
  /** Open, and not compressing. */
  readonly webSocket: WebSocket;
  /** The connection under it. */
  readonly socket: Duplex;
  readonly peer: string;
  readonly clock: Clock;
}

/** Owns the WebSocket. Binary frames must not be changed after they were given to `sendBinary`. */
export class WebSocketServerChannel implements Channel {
  readonly peer: string;
  readonly #webSocket: WebSocket;
  readonly #clock: Clock;
  readonly #inbox = new Inbox();
  readonly #outbox: Outbox;
  readonly #ended = deferred<ChannelEnd>();
  #problem: string | undefined;
  #isClosing = false;
  #patience: Timer | undefined;
  /** Something came since the last ping, or is kept from coming by us. */
  #hasHeard = true;
  #silentRounds = 0;
  /** The last ping has not left yet: it is behind what the peer has not taken. */
  #isPingWaiting = false;
  /** What the peer's latest ping said, while the pong to an earlier one has not left yet. */
  #pongOwed: Buffer | undefined;
  #isPongWaiting = false;

  constructor({ webSocket, socket, peer, clock }: WebSocketServerChannelOptions) {
    this.peer = peer;
    this.#webSocket = webSocket;
    this.#clock = clock;
    this.#outbox = new Outbox(socket);
    webSocket.pause(); // until somebody listens
    webSocket.on('message', (content, isBinary) => this.#received(content, isBinary));
    webSocket.on('ping', (payload) => this.#answerPing(payload));
    webSocket.on('pong', () => (this.#hasHeard = true));
    webSocket.on('error', (error) => this.#failed(error.message));
    webSocket.on('close', (code, reason) => this.#closed(code, reason.toString()));
    socket.on('error', (error) => this.#failed(error.message));
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#inbox.listen(listener);
    this.#readOn();
  }

  send(text: string): boolean {
    return this.#isOpen && this.#outbox.write(textFrame(text));
  }

  sendParts(parts: MessageParts): boolean {
    if (!this.#isOpen) return false;
    const length = partsLength(parts);
    return this.#outbox.compose(textFrameLength(length), (frame) => void writeParts(frame, startTextFrame(frame, length), parts));
  }

  sendBinary(frame: Uint8Array): boolean {
    return this.#isOpen && this.#outbox.writeBoth(binaryFrameHeader(frame.length), frame);
  }

  drained(): Promise<void> {
    return this.#outbox.drained();
  }

  pause(): void {
    this.#inbox.pause();
    if (!this.#isClosing) this.#webSocket.pause();
  }

  resume(): void {
    this.#inbox.resume();
    this.#readOn();
  }

  close(problem?: string): void {
    this.#inbox.close();
    if (this.#isClosing) return;
    this.#problem ??= problem;
    this.#startClosing();
    this.#webSocket.close(...closeArguments(problem));
    this.#webSocket.resume(); // the peer's close comes after whatever else it has sent
  }

  /** Ends at once; what was not sent yet and what was not taken yet is lost. */
  destroy(problem: string): void {
    this.#inbox.close();
    this.#problem ??= problem;
    this.#startClosing();
    this.#webSocket.terminate();
  }

  /** To be called at regular intervals: ends the channel if the peer gave no sign of life since the last time. */
  ping(): void {
    if (this.#isClosing) return;
    this.#silentRounds = this.#hasHeard ? 0 : this.#silentRounds + 1;
    const allowedRounds = this.#isPingWaiting ? slowReaderRounds : 0;
    if (this.#silentRounds > allowedRounds) return this.destroy('the peer did not answer a ping');
    this.#hasHeard = this.#inbox.isHolding;
    if (this.#isPingWaiting) return;
    this.#isPingWaiting = true;
    this.#webSocket.ping('', false, () => (this.#isPingWaiting = false));
  }

  /** Only the latest of those that could not be answered yet (RFC 6455 §5.5.3), or a peer that pings and does not read would fill the memory. */
  #answerPing(payload: Buffer): void {
    this.#hasHeard = true;
    this.#pongOwed = payload;
    if (!this.#isPongWaiting) this.#sendPong();
  }

  #sendPong(): void {
    const payload = this.#pongOwed;
    this.#pongOwed = undefined;
    this.#isPongWaiting = payload !== undefined && this.#isOpen;
    if (this.#isPongWaiting) this.#webSocket.pong(payload, false, () => this.#sendPong());
  }

  /** Not once a close frame has come: nothing may follow the one that `ws` has answered it with. */
  get #isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  #readOn(): void {
    if (this.#inbox.isHolding) return;
    this.#hasHeard = true;
    this.#webSocket.resume();
  }

  #received(content: RawData, isBinary: boolean): void {
    this.#hasHeard = true;
    const bytes = wholeOf(content);
    if (isBinary) readBinaryMessage(bytes, this.#inbox);
    else this.#inbox.message(bytes.toString()); // `ws` has checked that it is UTF-8
  }

  /** Too long a message, a broken frame, a broken connection: `ws` closes by itself, and is given no more time than we take. */
  #failed(problem: string): void {
    this.#problem ??= problem;
    this.#startClosing();
  }

  #startClosing(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#outbox.close();
    this.#patience = this.#clock.afterIdle(closePatienceMs, () => this.destroy('the peer did not answer the close'));
  }

  #closed(code: number, reason: string): void {
    this.#isClosing = true;
    this.#patience?.cancel();
    this.#outbox.close();
    const end = this.#problem === undefined ? endOfWebSocket(code, reason) : { problem: this.#problem };
    this.#inbox.end(() => this.#ended.resolve(end));
  }
}

function wholeOf(content: RawData): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Array.isArray(content) ? Buffer.concat(content) : Buffer.from(content);
}
