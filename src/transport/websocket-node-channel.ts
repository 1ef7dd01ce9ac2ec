// Either side of a WebSocket in Node as a Channel, over the socket that the handshake was made on. Answers pings and closes as
// RFC 6455 §5.5 and §7 say; what frames look like is known elsewhere.

import type { Duplex } from 'node:stream';
import { type Clock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { Outbox } from './outbox.js';
import { binaryFrame, closeFrame, type MaskingKeys, pingFrame, pongFrame, textFrame, textFrameOf } from './websocket-frame.js';
import { brokenCode, closeArguments, endOfWebSocket, readBinaryMessage } from './websocket-message.js';
import { closeCodes, WebSocketReceiver } from './websocket-receiver.js';

/** Longest a close waits until the peer has taken what was sent and has closed too. */
const closePatienceMs = 5_000;

export type WebSocketRole =
  | { readonly kind: 'server' }
  /** Masks what it sends, and leaves it to the server to end the connection. */
  | { readonly kind: 'client'; readonly keys: MaskingKeys };

export interface NodeWebSocketChannelOptions {
  readonly socket: Duplex;
  readonly role: WebSocketRole;
  /** What has come behind the handshake. */
  readonly head: Buffer;
  readonly peer: string;
  /** A longer message closes the connection with code 1009. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** Owns the socket. */
export class NodeWebSocketChannel implements Channel {
  readonly peer: string;
  readonly #socket: Duplex;
  readonly #keys: MaskingKeys | undefined;
  readonly #clock: Clock;
  readonly #inbox = new Inbox();
  readonly #outbox: Outbox;
  readonly #receiver: WebSocketReceiver;
  readonly #ended = deferred<ChannelEnd>();
  /** Has come before anybody listened. */
  #head: Buffer;
  #isReading = false;
  #problem: string | undefined;
  #isClosing = false;
  #peerClose: { readonly code: number; readonly reason: string } | undefined;
  #patience: Timer | undefined;
  /** Something came since the last ping, or is kept from coming by us. */
  #hasHeard = true;
  #unansweredPings = 0;
  /** The last ping has not left yet: it is behind what the peer has not taken. */
  #isPingWaiting = false;
  #pong: { isLeaving: boolean; next: Uint8Array | undefined } = { isLeaving: false, next: undefined };

  constructor({ socket, role, head, peer, maxMessageBytes, clock }: NodeWebSocketChannelOptions) {
    this.peer = peer;
    this.#socket = socket;
    this.#keys = role.kind === 'client' ? role.keys : undefined;
    this.#clock = clock;
    this.#head = head;
    this.#outbox = new Outbox(socket);
    this.#receiver = new WebSocketReceiver(
      { peer: role.kind === 'client' ? 'server' : 'client', maxMessageBytes },
      {
        text: (text) => this.#inbox.message(text),
        binary: (bytes) => readBinaryMessage(bytes, this.#inbox),
        ping: (payload) => this.#answerPing(payload),
        pong() {},
        closing: (code, reason) => this.#peerCloses(code, reason),
        broken: (code, problem) => this.#breakOff(code, problem),
      },
    );
    socket.on('error', (error) => this.#failed(error.message));
    socket.on('end', () => this.#peerEnded());
    socket.on('close', () => this.#closed());
  }

  get closed(): Promise<ChannelEnd> {
    return this.#ended.promise;
  }

  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#inbox.listen(listener);
    this.#readUnlessHolding();
  }

  send(text: string): boolean {
    return !this.#isClosing && this.#outbox.compose(textFrame(text, this.#keys));
  }

  sendParts(parts: MessageParts): boolean {
    return !this.#isClosing && this.#outbox.compose(textFrameOf(parts, this.#keys));
  }

  sendBinary(...frame: BinaryParts): boolean {
    return !this.#isClosing && this.#outbox.compose(binaryFrame(frame, this.#keys));
  }

  drained(): Promise<void> {
    return this.#outbox.drained();
  }

  pause(): void {
    this.#inbox.pause();
    if (!this.#isClosing) this.#socket.pause();
  }

  resume(): void {
    this.#inbox.resume();
    this.#readUnlessHolding();
  }

  close(problem?: string, sense?: 'goodbye'): void {
    this.#inbox.close();
    if (this.#isClosing) return;
    this.#problem ??= problem;
    const [code, reason] = closeArguments(problem, sense);
    this.#startClosing({ code, reason });
  }

  /** Ends at once; what was not sent yet and what was not taken yet is lost. */
  destroy(problem: string): void {
    this.#inbox.close();
    this.#problem ??= problem;
    this.#isClosing = true;
    this.#outbox.close();
    this.#socket.destroy();
  }

  /**
   * To be called at regular intervals: ends the channel when the peer gave no sign of life since so many calls. Calls are counted and not
   * time, so that a peer is not blamed for a server that stood still.
   */
  ping(maxUnanswered: number): void {
    if (this.#isClosing) return;
    this.#unansweredPings = this.#hasHeard ? 0 : this.#unansweredPings + 1;
    if (this.#unansweredPings >= maxUnanswered) return this.destroy('the peer did not answer a ping');
    this.#hasHeard = this.#inbox.isHolding;
    if (this.#isPingWaiting) return;
    this.#isPingWaiting = true;
    this.#socket.write(pingFrame(this.#keys), () => (this.#isPingWaiting = false));
  }

  #readUnlessHolding(): void {
    if (this.#inbox.isHolding) return;
    this.#hasHeard = true;
    this.#read();
  }

  #read(): void {
    if (!this.#isReading) {
      this.#isReading = true;
      this.#receiver.push(this.#head);
      this.#head = Buffer.alloc(0);
      this.#socket.on('data', (bytes: Buffer) => {
        this.#hasHeard = true;
        this.#receiver.push(bytes);
      });
      if (this.#inbox.isHolding && !this.#isClosing) return void this.#socket.pause();
    }
    this.#socket.resume();
  }

  /** A peer that takes no answers gets one for the last of its pings only, RFC 6455 §5.5.3. */
  #answerPing(payload: Uint8Array): void {
    if (this.#isClosing) return;
    if (this.#pong.isLeaving) {
      this.#pong.next = payload;
      return;
    }
    this.#pong.isLeaving = true;
    this.#socket.write(pongFrame(payload, this.#keys), () => {
      const { next } = this.#pong;
      this.#pong = { isLeaving: false, next: undefined };
      if (next !== undefined) this.#answerPing(next);
    });
  }

  #peerCloses(code: number, reason: string): void {
    this.#peerClose = { code, reason };
    this.#startClosing(code === closeCodes.none ? { reason: '' } : { code, reason: '' });
    if (this.#keys === undefined) this.#socket.end();
  }

  #breakOff(code: number, problem: string): void {
    this.#problem ??= problem;
    this.#startClosing({ code, reason: problem });
    this.#socket.end();
  }

  /** Says so unless it was said, and waits for the peer, whose close comes after whatever else it has sent. */
  #startClosing(close: { readonly code?: number; readonly reason: string }): void {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#outbox.close();
      this.#socket.write(closeFrame(close, this.#keys));
      this.#patience = this.#clock.afterIdle(closePatienceMs, () => this.#giveUp());
    }
    this.#read();
  }

  #giveUp(): void {
    if (this.#peerClose === undefined) return this.destroy('the peer did not answer the close');
    this.#socket.destroy(); // it has, and only its connection is left over
  }

  /** Nobody who ends without a close reads on. */
  #peerEnded(): void {
    if (this.#peerClose === undefined) this.#socket.destroy();
  }

  /** Once both have closed, how the connection ends is of no interest. */
  #failed(problem: string): void {
    if (this.#peerClose === undefined) this.#problem ??= problem;
    this.#socket.destroy();
  }

  #closed(): void {
    this.#isClosing = true;
    this.#patience?.cancel();
    this.#outbox.close();
    const { code, reason } = this.#peerClose ?? { code: brokenCode, reason: '' };
    const end = this.#problem === undefined ? endOfWebSocket(code, reason) : { problem: this.#problem };
    this.#inbox.end(() => this.#ended.resolve(end));
  }
}
