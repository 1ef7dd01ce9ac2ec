// Messages in a byte stream: one JSON text per line, and binary frames where a line would start. Splits bytes and decodes only whole
// lines, so it does not matter how the stream is chunked. Does not parse JSON.

import type { BinaryParts, ChannelListener } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { dividedParts, partsLength, writeParts } from './message-parts.js';
import { scratchBytes, type Unwritten } from './outbox.js';
import { Pieces } from './pieces.js';
import { decodeUtf8 } from './utf8.js';
import { binaryMark } from './websocket-message.js';

/** The mark, where a line would begin, and a four-byte big-endian length. */
const headerBytes = 5;
const lineFeed = 0x0a;
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

  /** A line or payload longer than `maxMessageBytes` is reported as unreadable once and skipped. */
  constructor(maxMessageBytes: number, listener: ChannelListener) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Keeps views of the bytes and passes views to the listener, so the caller must not change the bytes afterwards. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at = this.#step(bytes, at);
  }

  /** To be called when the peer has ended normally: the rest is its last line, or an unfinished frame. */
  end(): void {
    if (this.#pieces.length > 0 && this.#state.kind === 'line') return this.#finishLine(this.#pieces.takeWith(new Uint8Array(0)));
    if (this.#state.kind === 'header' || this.#state.kind === 'payload') {
      this.#listener.unreadable('the peer ended in the middle of a binary frame');
    }
  }

  /** Reads one part of a message; returns where the next part begins. */
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
    // One byte more is allowed, since it may be the carriage return before the line feed.
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

/** A binary frame for a byte stream, to be written into a buffer of `length` bytes. */
export function markedFrame([head, body = new Uint8Array(0)]: BinaryParts): Unwritten {
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

/** A message as a line, to be written as UTF-8. */
export function encodeLine(text: string): string {
  return `${text}\n`;
}

/** Like `encodeLine`, for a message in parts: one piece, or several if it is long. */
export function encodedParts(parts: MessageParts): readonly Unwritten[] {
  const length = partsLength(parts) + 1;
  if (length <= scratchBytes) return [{ length, write: (room) => void (room[writeParts(room, 0, parts)] = lineFeed) }];
  return dividedParts([...parts, '\n'], scratchBytes).map((piece) => ({
    length: partsLength(piece),
    write: (room) => void writeParts(room, 0, piece),
  }));
}

function isBlank(text: string): boolean {
  return text.length === 0 || (text.charCodeAt(0) <= 0x20 && text.trim().length === 0);
}
