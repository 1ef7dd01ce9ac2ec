// An ordered two-way pipe of messages. Knows no methods, ids or JSON; the transport handles framing and sockets.

import type { MessageParts } from './json-parts.js';

export interface Channel {
  /** Identifies the peer in logs: an address, never a secret. */
  readonly peer: string;
  /** Call once, before anything can arrive. */
  listen(listener: ChannelListener): void;
  /**
   * Sends one message: the text of a JSON value without line feeds. Returns false when the peer lags, in which case bulk senders should
   * await `drained`; also false when the channel has closed.
   */
  send(text: string): boolean;
  /**
   * Like `send`, for a message in parts. The bytes may be reused as soon as it returns, unless one of the parts is longer than `longBytes`:
   * then none of the message's bytes may change any more, since they are read while the peer takes them.
   */
  sendParts(parts: MessageParts): boolean;
  /** Sends one binary frame, which both sides must have agreed to. Returns false as `send` does; the bytes may be reused as soon as it returns. */
  sendBinary(...frame: BinaryParts): boolean;
  /** Resolves when the peer has caught up or the channel has closed. */
  drained(): Promise<void>;
  /** Bytes that were sent but not yet accepted by the operating system; 0 once the channel closes, since `drained` does not wait any more. */
  readonly queuedBytes: number;
  /** Stop and resume reading from the peer; while paused, its messages wait in the socket. */
  pause(): void;
  resume(): void;
  /** Flushes what was sent, then closes. Idempotent. A `goodbye` tells the peer not to reconnect, if the channel can convey that. */
  close(problem?: string, sense?: 'goodbye'): void;
  /** Resolves once nothing more can be sent and every received message has been delivered or is no longer wanted. */
  readonly closed: Promise<ChannelEnd>;
}

/** A binary frame, in two parts when it is long, so that they need not be joined first. */
export type BinaryParts = readonly [head: Uint8Array, body?: Uint8Array];

export interface ChannelListener {
  message(text: string): void;
  /** The frame may be a view on a larger buffer; copy it to keep it. */
  binary(frame: Uint8Array): void;
  /** Received data that is not a message: too long, not UTF-8, or badly framed. The channel continues if it can. */
  unreadable(problem: string): void;
}

/** Why a channel ended; `problem` is absent when either side closed it normally. */
export interface ChannelEnd {
  readonly problem?: string;
  /** The peer said goodbye, so reconnecting would fail. */
  readonly isFinal?: boolean;
}
