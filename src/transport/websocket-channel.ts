// Either side of a WebSocket in Node as a Channel, over the socket that the handshake was made on. Answers pings and closes as
// RFC 6455 §5.5 and §7 say; what frames look like is known elsewhere.

import type { Duplex } from 'node:stream';
import { type Clock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { Outbox } from './outbox.js';
import { binaryFrame, closeFrame, type MaskingKeys, textFrame, textFrameOf } from './websocket-frame.js';
import { Heartbeat } from './websocket-heartbeat.js';
import { brokenCode, closeArguments, endOfWebSocket, readBinaryMessage } from './websocket-message.js';
import { closeCodes, WebSocketReceiver } from './websocket-receiver.js';

/** Longest a close waits until the peer has taken what was sent and has closed too. */
const closePatienceMs = 5_000;

export type WebSocketRole =
  | { readonly kind: 'server' }
  /** Masks what it sends, and leaves it to the server to end the connection. */
  | { readonly kind: 'client'; readonly keys: MaskingKeys };

export interface WebSocketChannelOptions {
  readonly socket: Duplex;
  readonly role: WebSocketRole;
  /** What has come behind the handshake. */
  readonly head: Buffer;
  readonly peer: string;
  /** A longer message closes the connection with code 1009. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

interface PeerClose {
  readonly code: number;
  readonly reason: string;
}

type State =
  | { readonly kind: 'open' }
  /** A close was sent, or the socket was destroyed, which needs no patience. */
  | { readonly kind: 'closing'; readonly patience: Timer | undefined; readonly peerClose: PeerClose | undefined }
  | { readonly kind: 'closed' };

/** Owns the socket. */
export class WebSocketChannel implements Channel {
  readonly peer: string;
  readonly #socket: Duplex;
  readonly #keys: MaskingKeys | undefined;
  readonly #clock: Clock;
  readonly #inbox = new Inbox();
  readonly #outbox: Outbox;
  readonly #receiver: WebSocketReceiver;
  readonly #ended = deferred<ChannelEnd>();
  readonly #heartbeat: Heartbeat;
  /** Came behind the handshake, before there was a listener; undefined once the socket is read. */
  #unread: Buffer | undefined;
  #problem: string | undefined;
  #state: State = { kind: 'open' };

  constructor({ socket, role, head, peer, maxMessageBytes, clock }: WebSocketChannelOptions) {
    this.peer = peer;
    this.#socket = socket;
    this.#keys = role.kind === 'client' ? role.keys : undefined;
    this.#clock = clock;
    this.#unread = head;
    this.#heartbeat = new Heartbeat(socket, this.#keys);
    this.#outbox = new Outbox(socket);
    this.#receiver = new WebSocketReceiver(
      { peer: role.kind === 'client' ? 'server' : 'client', maxMessageBytes },
      {
        text: (text) => this.#inbox.message(text),
        binary: (bytes) => readBinaryMessage(bytes, this.#inbox),
        ping: (payload) => void (this.#isOpen && this.#heartbeat.answer(payload)),
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
    return this.#isOpen && this.#outbox.compose(textFrame(text, this.#keys));
  }

  sendParts(parts: MessageParts): boolean {
    return this.#isOpen && this.#outbox.compose(textFrameOf(parts, this.#keys));
  }

  sendBinary(...frame: BinaryParts): boolean {
    return this.#isOpen && this.#outbox.compose(binaryFrame(frame, this.#keys));
  }

  drained(): Promise<void> {
    return this.#outbox.drained();
  }

  pause(): void {
    this.#inbox.pause();
    if (this.#isOpen) this.#socket.pause();
  }

  resume(): void {
    this.#inbox.resume();
    this.#readUnlessHolding();
  }

  close(problem?: string, sense?: 'goodbye'): void {
    this.#inbox.close();
    if (!this.#isOpen) return;
    this.#problem ??= problem;
    const [code, reason] = closeArguments(problem, sense);
    this.#startClosing({ code, reason });
  }

  /** Ends at once; what was not sent yet and what was not taken yet is lost. */
  destroy(problem: string): void {
    this.#inbox.close();
    this.#problem ??= problem;
    if (this.#isOpen) this.#state = { kind: 'closing', patience: undefined, peerClose: undefined };
    this.#outbox.close();
    this.#socket.destroy();
  }

  /** To be called at regular intervals: ends the channel when the peer gave no sign of life since so many calls. */
  ping(maxUnanswered: number): void {
    if (!this.#isOpen) return;
    if (!this.#heartbeat.ping(maxUnanswered)) return this.destroy('the peer did not answer a ping');
    if (this.#inbox.isHolding) this.#heartbeat.heard();
  }

  get #isOpen(): boolean {
    return this.#state.kind === 'open';
  }

  #readUnlessHolding(): void {
    if (this.#inbox.isHolding) return;
    this.#heartbeat.heard();
    this.#read();
  }

  #read(): void {
    if (this.#unread !== undefined) {
      const unread = this.#unread;
      this.#unread = undefined;
      this.#receiver.push(unread);
      this.#socket.on('data', (bytes: Buffer) => {
        this.#heartbeat.heard();
        this.#receiver.push(bytes);
      });
      if (this.#inbox.isHolding && this.#isOpen) return void this.#socket.pause();
    }
    this.#socket.resume();
  }

  #peerCloses(code: number, reason: string): void {
    this.#startClosing(code === closeCodes.none ? { reason: '' } : { code, reason: '' });
    if (this.#state.kind === 'closing') this.#state = { ...this.#state, peerClose: { code, reason } };
    if (this.#keys === undefined) this.#socket.end();
  }

  #breakOff(code: number, problem: string): void {
    this.#problem ??= problem;
    this.#startClosing({ code, reason: problem });
    this.#socket.end();
  }

  /** Sends a close unless one was sent, and waits for the peer's, which comes behind everything else that it has sent. */
  #startClosing(close: { readonly code?: number; readonly reason: string }): void {
    if (this.#isOpen) {
      const patience = this.#clock.afterIdle(closePatienceMs, () => this.#giveUp());
      this.#state = { kind: 'closing', patience, peerClose: undefined };
      this.#outbox.close();
      this.#socket.write(closeFrame(close, this.#keys));
    }
    this.#read();
  }

  get #peerClose(): PeerClose | undefined {
    return this.#state.kind === 'closing' ? this.#state.peerClose : undefined;
  }

  #giveUp(): void {
    if (this.#peerClose === undefined) return this.destroy('the peer did not answer the close');
    this.#socket.destroy(); // it has, and only its connection is left over
  }

  /** A peer that ends without a close does not read on. */
  #peerEnded(): void {
    if (this.#peerClose === undefined) this.#socket.destroy();
  }

  /** Once both have closed, how the connection ends is of no interest. */
  #failed(problem: string): void {
    if (this.#peerClose === undefined) this.#problem ??= problem;
    this.#socket.destroy();
  }

  #closed(): void {
    const { code, reason } = this.#peerClose ?? { code: brokenCode, reason: '' };
    if (this.#state.kind === 'closing') this.#state.patience?.cancel();
    this.#state = { kind: 'closed' };
    this.#outbox.close();
    const end = this.#problem === undefined ? endOfWebSocket(code, reason) : { problem: this.#problem };
    this.#inbox.end(() => this.#ended.resolve(end));
  }
}
