// Messages in a stream of bytes: one JSON text per line, and binary frames where a line would start. Cuts at bytes and decodes whole
// lines, so that it does not matter in which pieces they come. Knows no JSON.

import type { BinaryParts, ChannelListener } from '../rpc/channel.js';
import { Pieces } from './pieces.js';
import { decodeUtf8 } from './utf8.js';
import { binaryMark } from './websocket-message.js';

/** The mark, where a line would begin, and four bytes of length, the highest first. */
const headerBytes = 5;
export const lineFeed = 0x0a;
const carriageReturn = 0x0d;

type State =
  | { readonly kind: 'line' }
  | { readonly kind: 'header' }
  | { readonly kind: 'payload'; readonly length: number }
  /** The rest of a line that is too long. */
  | { readonly kind: 'skippedLine' }
  /** The rest of a payload that is too long. */
  | { readonly kind: 'skippedPayload'; readonly left: number };

const inLine: State = { kind: 'line' };

export class LineFraming {
  readonly #maxMessageBytes: number;
  readonly #listener: ChannelListener;
  readonly #pieces = new Pieces();
  #state: State = inLine;

  /** A line or payload longer than `maxMessageBytes` is reported as unreadable, once, and skipped. */
  constructor(maxMessageBytes: number, listener: ChannelListener) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Keeps views of the bytes until the message is complete, and hands out views of them: they must not change afterwards. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at = this.#step(bytes, at);
  }

  /** The peer has ended in good order: what is left is its last line, or a frame that was not finished. */
  end(): void {
    if (this.#pieces.length > 0 && this.#state.kind === 'line') return this.#finishLine(this.#pieces.takeWith(new Uint8Array(0)));
    if (this.#state.kind === 'header' || this.#state.kind === 'payload') {
      this.#listener.unreadable('the peer ended in the middle of a binary frame');
    }
  }

  /** Takes one part of one message; returns where the next begins. */
  #step(bytes: Uint8Array, from: number): number {
    const state = this.#state;
    switch (state.kind) {
      case 'line':
        return this.#readLine(bytes, from);
      case 'header':
        return this.#readHeader(bytes, from);
      case 'payload':
        return this.#readPayload(bytes, from, state.length);
      case 'skippedLine': {
        const end = bytes.indexOf(lineFeed, from);
        if (end < 0) return bytes.length;
        this.#state = inLine;
        return end + 1;
      }
      case 'skippedPayload': {
        const skipped = Math.min(state.left, bytes.length - from);
        this.#state = skipped === state.left ? inLine : { kind: 'skippedPayload', left: state.left - skipped };
        return from + skipped;
      }
    }
  }

  #readLine(bytes: Uint8Array, from: number): number {
    if (this.#pieces.length === 0 && bytes[from] === binaryMark) {
      this.#state = { kind: 'header' };
      return from;
    }
    const end = bytes.indexOf(lineFeed, from);
    if (end >= 0) {
      const last = bytes.subarray(from, end);
      this.#finishLine(this.#pieces.takeWith(last));
      return end + 1;
    }
    this.#pieces.add(bytes.subarray(from));
    // One more, since the last may prove to be the carriage return of the line's end.
    if (this.#pieces.length > this.#maxMessageBytes + 1) {
      this.#pieces.clear();
      this.#state = { kind: 'skippedLine' };
      this.#reportTooLong('a line');
    }
    return bytes.length;
  }

  #finishLine(line: Uint8Array): void {
    const content = line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
    if (content.length > this.#maxMessageBytes) return this.#reportTooLong('a line');
    const text = decodeUtf8(content);
    if (text === undefined) return this.#listener.unreadable('a line is not valid UTF-8');
    if (!isBlank(text)) this.#listener.message(text);
  }

  #readHeader(bytes: Uint8Array, from: number): number {
    const end = from + headerBytes - this.#pieces.length;
    if (end > bytes.length) {
      this.#pieces.add(bytes.subarray(from));
      return bytes.length;
    }
    const header = this.#pieces.takeWith(bytes.subarray(from, end));
    const length = new DataView(header.buffer, header.byteOffset, headerBytes).getUint32(1);
    if (length > this.#maxMessageBytes) {
      this.#state = { kind: 'skippedPayload', left: length };
      this.#reportTooLong(`a binary frame of ${length} bytes`);
    } else if (length === 0) {
      this.#state = inLine;
      this.#listener.binary(new Uint8Array(0));
    } else {
      this.#state = { kind: 'payload', length };
    }
    return end;
  }

  #readPayload(bytes: Uint8Array, from: number, length: number): number {
    const end = from + length - this.#pieces.length;
    if (end > bytes.length) {
      this.#pieces.add(bytes.subarray(from));
      return bytes.length;
    }
    const last = bytes.subarray(from, end);
    this.#state = inLine;
    this.#listener.binary(this.#pieces.takeWith(last));
    return end;
  }

  #reportTooLong(what: string): void {
    this.#listener.unreadable(`${what} is longer than the ${this.#maxMessageBytes} bytes allowed`);
  }
}

/** A binary frame as it goes over a stream of bytes, yet to be written. */
export function markedFrame([head, body = new Uint8Array(0)]: BinaryParts): {
  readonly length: number;
  readonly write: (room: Buffer) => void;
} {
  const payloadBytes = head.length + body.length;
  return {
    length: headerBytes + payloadBytes,
    write: (room) => {
      room[0] = binaryMark;
      room.writeUInt32BE(payloadBytes, 1);
      room.set(head, headerBytes);
      room.set(body, headerBytes + head.length);
    },
  };
}

/** A message as a line, ready to be written as UTF-8. */
export function encodeLine(text: string): string {
  return `${text}\n`;
}

function isBlank(text: string): boolean {
  return text.length === 0 || (text.charCodeAt(0) <= 0x20 && text.trim().length === 0);
}
