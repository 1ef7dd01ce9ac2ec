// An ordered two-way pipe of messages. Knows no methods, no ids and no JSON; framing and sockets are the transport's business.

import type { MessageParts } from './json-parts.js';

export interface Channel {
  /** Who is at the other end, for logs: an address, never a secret. */
  readonly peer: string;
  /** Call once, before anything can arrive. */
  listen(listener: ChannelListener): void;
  /**
   * Sends one message: the text of a JSON value without line feeds. False when the peer lags, and bulk senders then await
   * `drained`; also false when the channel has closed.
   */
  send(text: string): boolean;
  /** The same for a message in parts. Bytes may change as soon as it has returned. */
  sendParts(parts: MessageParts): boolean;
  /** Sends one binary frame, which both sides must have agreed to. False as for `send`; the bytes may change as soon as it has returned. */
  sendBinary(...frame: BinaryParts): boolean;
  /** Resolves when the peer has caught up, or the channel has closed. */
  drained(): Promise<void>;
  /** Bytes sent that the operating system has not taken yet. */
  readonly queuedBytes: number;
  /** Stop and go on taking messages from the peer; what it sends meanwhile waits in the socket. */
  pause(): void;
  resume(): void;
  /**
   * Lets what was sent go out, then closes. Closing twice is fine. A `goodbye` tells the peer that this side will not be back, where the
   * channel has a way to say so.
   */
  close(problem?: string, sense?: 'goodbye'): void;
  /** Resolves once, when nothing more can be sent, and everything received was taken or is not wanted any more. */
  readonly closed: Promise<ChannelEnd>;
}

/** A binary frame, in two parts when it is long, so that they need not be joined first. */
export type BinaryParts = readonly [head: Uint8Array, body?: Uint8Array];

export interface ChannelListener {
  message(text: string): void;
  /** The frame may be a view on something larger: whoever keeps it copies it. */
  binary(frame: Uint8Array): void;
  /** Something came that is no message: too long, not UTF-8, not framed. The channel goes on when it can. */
  unreadable(problem: string): void;
}

/** Why a channel ended; `problem` is absent when either side closed it in good order. */
export interface ChannelEnd {
  readonly problem?: string;
  /** The peer said goodbye: to open another channel to it would be in vain. */
  readonly isFinal?: boolean;
}
