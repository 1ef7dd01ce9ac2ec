// Reads WebSocket frames, RFC 6455 §5, from arbitrary chunks of bytes and assembles them into messages. Knows no socket and answers
// nothing: the channel decides how to answer a ping, a close or a protocol violation.

import { mask } from './masking.js';
import { Pieces } from './pieces.js';
import { decodeUtf8 } from './utf8.js';
import { lastFragment, longestControlBytes, masked, maskingKeyBytes, opcodes } from './websocket-frame.js';

export interface ReceiverOptions {
  /** Clients mask every frame, servers none. */
  readonly peer: 'client' | 'server';
  readonly maxMessageBytes: number;
}

/** Called in order. Nothing is called after `closing` or `broken`. */
export interface ReceiverListener {
  text(text: string): void;
  /** The bytes are a view; copy them to keep them. */
  binary(bytes: Uint8Array): void;
  ping(payload: Uint8Array): void;
  pong(): void;
  /** The peer's close; code 1005 when it sent none. */
  closing(code: number, reason: string): void;
  /** The peer violated the protocol; `code` is the code to close with. */
  broken(code: number, problem: string): void;
}

export const closeCodes = { none: 1005, protocolError: 1002, invalidText: 1007, tooLong: 1009 } as const;

/** Two bytes, eight bytes of length, and a key. */
const longestHeaderBytes = 14;

/** Bits that only extensions use; we negotiate none. */
const reservedBits = 0x70;

/** The highest bit of an eight-byte length, which must be 0. */
const highestBit = 0x80;

const knownOpcodes: ReadonlySet<number> = new Set(Object.values(opcodes));

interface FrameHeader {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly isMasked: boolean;
  readonly hasReservedBits: boolean;
  readonly length: number;
}

const noBytes = new Uint8Array(0);

export class WebSocketReceiver {
  readonly #isPeerMasking: boolean;
  readonly #maxMessageBytes: number;
  readonly #listener: ReceiverListener;
  readonly #header = Buffer.alloc(longestHeaderBytes);
  /** How much of the header has arrived, and its full length as far as it is known. */
  #headerBytes = 0;
  #headerLength = 2;
  /** The frame whose payload is being read. */
  #opcode = 0;
  #isLast = false;
  #key = 0;
  /** Payload bytes still to arrive; undefined while a header is being read. */
  #left: number | undefined;
  /** Kind of the current message; undefined between messages. */
  #message: 'text' | 'binary' | undefined;
  readonly #pieces = new Pieces();
  readonly #controlPieces = new Pieces();
  #hasEnded = false;

  constructor({ peer, maxMessageBytes }: ReceiverOptions, listener: ReceiverListener) {
    this.#isPeerMasking = peer === 'client';
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Takes ownership of the bytes: unmasks them in place and keeps views of them. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.#hasEnded;) {
      at = this.#left === undefined ? this.#readHeader(bytes, at) : this.#readPayload(bytes, at, this.#left);
    }
  }

  /** Reads byte by byte, because a header is short and may arrive in pieces. Returns where the next part begins. */
  #readHeader(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length;) {
      this.#header[this.#headerBytes] = bytes[at] ?? 0;
      this.#headerBytes += 1;
      at += 1;
      if (this.#headerBytes === 2) this.#headerLength = this.#fullHeaderLength();
      if (this.#headerBytes < this.#headerLength) continue;
      this.#headerBytes = 0;
      this.#headerLength = 2;
      this.#startFrame();
      return at;
    }
    return bytes.length;
  }

  #fullHeaderLength(): number {
    const second = this.#header[1] ?? 0;
    return 2 + extraLengthBytes(second) + ((second & masked) === 0 ? 0 : maskingKeyBytes);
  }

  #startFrame(): void {
    const [first = 0, second = 0, third = 0] = this.#header;
    const frame = {
      opcode: first & 0x0f,
      isLast: (first & lastFragment) !== 0,
      isMasked: (second & masked) !== 0,
      hasReservedBits: (first & reservedBits) !== 0 || (extraLengthBytes(second) === 8 && (third & highestBit) !== 0),
      length: this.#payloadLength(second),
    };
    const { opcode, isLast, isMasked, length } = frame;
    const problem = this.#problemWith(frame);
    if (problem !== undefined) return this.#break(closeCodes.protocolError, problem);
    if (!isControl(opcode)) {
      if (this.#pieces.length + length > this.#maxMessageBytes)
        return this.#break(closeCodes.tooLong, 'Max payload size exceeded');
      if (opcode !== opcodes.continuation) this.#message = opcode === opcodes.text ? 'text' : 'binary';
    }
    this.#opcode = opcode;
    this.#isLast = isLast;
    this.#key = isMasked ? this.#header.readInt32LE(2 + extraLengthBytes(second)) : 0;
    if (length === 0) this.#finishFrame(noBytes);
    else this.#left = length;
  }

  /** Accepts lengths that are not in their shortest form: nothing depends on it, and the meaning is clear. */
  #payloadLength(second: number): number {
    switch (extraLengthBytes(second)) {
      case 2:
        return this.#header.readUInt16BE(2);
      case 8:
        return this.#header.readUInt32BE(2) * 2 ** 32 + this.#header.readUInt32BE(6);
      case 0:
        return second & 0x7f;
    }
  }

  #problemWith({ opcode, isLast, isMasked, hasReservedBits, length }: FrameHeader): string | undefined {
    if (hasReservedBits) return 'a frame has reserved bits set';
    if (isMasked !== this.#isPeerMasking) return `a frame is ${isMasked ? 'masked, but a server must not mask' : 'not masked'}`;
    if (!knownOpcodes.has(opcode)) return `a frame has the unknown opcode ${opcode}`;
    if (isControl(opcode)) {
      if (!isLast) return 'a control frame is fragmented';
      return length > longestControlBytes ? `a control frame has ${length} bytes, ${longestControlBytes} are allowed` : undefined;
    }
    const isContinued = opcode === opcodes.continuation;
    if (isContinued === (this.#message !== undefined)) return undefined;
    return isContinued ? 'a continuation frame has no message to continue' : 'a message begins before the previous one has ended';
  }

  #readPayload(bytes: Uint8Array, from: number, left: number): number {
    const end = Math.min(from + left, bytes.length);
    const part = bytes.subarray(from, end);
    if (this.#isPeerMasking) this.#key = mask(part, this.#key);
    if (part.length === left) this.#finishFrame(part);
    else {
      this.#left = left - part.length;
      (isControl(this.#opcode) ? this.#controlPieces : this.#pieces).add(part);
    }
    return end;
  }

  #finishFrame(last: Uint8Array): void {
    this.#left = undefined;
    if (isControl(this.#opcode)) return this.#finishControl(this.#controlPieces.takeWith(last));
    if (!this.#isLast) return this.#pieces.add(last);
    const message = this.#pieces.takeWith(last);
    const kind = this.#message;
    this.#message = undefined;
    if (kind === 'binary') return this.#listener.binary(message);
    const text = decodeUtf8(message);
    if (text === undefined) return this.#break(closeCodes.invalidText, 'a text message is not valid UTF-8');
    this.#listener.text(text);
  }

  #finishControl(payload: Uint8Array): void {
    switch (this.#opcode) {
      case opcodes.ping:
        return this.#listener.ping(payload);
      case opcodes.pong:
        return this.#listener.pong();
      case opcodes.close:
        return this.#finishClose(payload);
    }
  }

  #finishClose(payload: Uint8Array): void {
    const [high, low] = payload;
    if (high === undefined) return this.#end(() => this.#listener.closing(closeCodes.none, ''));
    const code = low === undefined ? undefined : high * 256 + low;
    if (code === undefined || !isCloseCode(code)) {
      return this.#break(closeCodes.protocolError, `a close frame has ${code === undefined ? 'half a code' : `code ${code}`}`);
    }
    const reason = decodeUtf8(payload.subarray(2));
    if (reason === undefined) return this.#break(closeCodes.invalidText, 'the reason of a close frame is not valid UTF-8');
    this.#end(() => this.#listener.closing(code, reason));
  }

  #break(code: number, problem: string): void {
    this.#end(() => this.#listener.broken(code, problem));
  }

  #end(notify: () => void): void {
    this.#hasEnded = true;
    this.#pieces.clear();
    notify();
  }
}

function extraLengthBytes(second: number): 0 | 2 | 8 {
  switch (second & 0x7f) {
    case 126:
      return 2;
    case 127:
      return 8;
    default:
      return 0;
  }
}

function isControl(opcode: number): boolean {
  return opcode >= opcodes.close;
}

/** The codes of RFC 6455 §7.4.1 and of the IANA registry that may be sent, and those for libraries and private use. */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}
