// A Channel over either side of a WebSocket in Node, on the socket that carried the handshake. Answers pings and closes as required by
// RFC 6455 §5.5 and §7; the frame format is implemented elsewhere.

import type { Duplex } from 'node:stream';
import { type Clock, type Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { BinaryParts, Channel, ChannelEnd, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { Inbox } from './inbox.js';
import { isKept } from './message-parts.js';
import { Outbox } from './outbox.js';
import { binaryFrame, closeFrame, type MaskingKeys, textFrame, textFrameOf } from './websocket-frame.js';
import { Heartbeat } from './websocket-heartbeat.js';
import { brokenCode, closeArguments, endOfWebSocket, readBinaryMessage } from './websocket-message.js';
import { closeCodes, WebSocketReceiver } from './websocket-receiver.js';

/** How long a close waits for the peer to receive what was sent and to close too. */
const closePatienceMs = 5_000;

export type WebSocketRole =
  | { readonly kind: 'server' }
  /** Masks what it sends, and lets the server end the connection. */
  | { readonly kind: 'client'; readonly keys: MaskingKeys };

export interface WebSocketChannelOptions {
  readonly socket: Duplex;
  readonly role: WebSocketRole;
  /** Bytes that arrived after the handshake. */
  readonly head: Buffer;
  readonly peer: string;
  /** Longer messages close the connection with code 1009. */
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

interface PeerClose {
  readonly code: number;
  readonly reason: string;
}

type State =
  | { readonly kind: 'open' }
  /** A close was sent, or the socket was destroyed, which needs no timer. */
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
  /** Bytes that arrived after the handshake, before there was a listener; undefined once the socket is being read. */
  #unread: Buffer | undefined;
  #problem: string | undefined;
  #state: State = { kind: 'open' };

  constructor({ socket, role, head, peer, maxMessageBytes, clock }: WebSocketChannelOptions) {
    this.peer = peer;
    this.#socket = socket;
    this.#keys = role.kind === 'client' ? role.keys : undefined;
    this.#clock = clock;
    this.#unread = head;
    this.#outbox = new Outbox(socket);
    this.#heartbeat = new Heartbeat(this.#outbox, this.#keys);
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
    return this.#isOpen && this.#outbox.composeAll(textFrameOf(parts, this.#keys), isKept(parts) ? 'asTaken' : 'now');
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

  /** Closes immediately; messages not yet sent or not yet delivered are lost. */
  destroy(problem: string): void {
    this.#inbox.close();
    this.#problem ??= problem;
    if (this.#isOpen) this.#state = { kind: 'closing', patience: undefined, peerClose: undefined };
    this.#outbox.discard();
    this.#socket.destroy();
  }

  /** Call at regular intervals: ends the channel when the peer has shown no sign of life for `maxUnanswered` calls. */
  ping(maxUnanswered: number): void {
    if (!this.#isOpen) return;
    if (!this.#heartbeat.ping(maxUnanswered)) return this.destroy('the peer did not answer a ping');
    if (this.#inbox.isHolding) this.#heartbeat.noteActivity();
  }

  get #isOpen(): boolean {
    return this.#state.kind === 'open';
  }

  #readUnlessHolding(): void {
    if (this.#inbox.isHolding) return;
    this.#heartbeat.noteActivity();
    this.#read();
  }

  #read(): void {
    if (this.#unread !== undefined) {
      const unread = this.#unread;
      this.#unread = undefined;
      this.#receiver.push(unread);
      this.#socket.on('data', (bytes: Buffer) => {
        this.#heartbeat.noteActivity();
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

  /** Sends a close unless one was sent, and reads on until the peer's close, which follows everything else the peer has sent. */
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
    this.#socket.destroy(); // it has answered, and only the connection remains
  }

  /** A peer that ends its side without a close no longer reads. */
  #peerEnded(): void {
    if (this.#peerClose === undefined) this.#socket.destroy();
  }

  /** Once the peer has closed, it does not matter how the connection ends. */
  #failed(problem: string): void {
    if (this.#peerClose === undefined) this.#problem ??= problem;
    this.#socket.destroy();
  }

  #closed(): void {
    const { code, reason } = this.#peerClose ?? { code: brokenCode, reason: '' };
    if (this.#state.kind === 'closing') this.#state.patience?.cancel();
    this.#state = { kind: 'closed' };
    this.#outbox.discard();
    const end = this.#problem === undefined ? endOfWebSocket(code, reason) : { problem: this.#problem };
    this.#inbox.end(() => this.#ended.resolve(end));
  }
}
