// Reads what comes over a WebSocket, RFC 6455 §5: frames in whatever pieces they arrive, put together to messages. Knows no socket,
// and answers nothing: what a ping, a close or a broken rule is answered with is the channel's business.

import { mask } from './masking.js';
import { Pieces } from './pieces.js';
import { decodeUtf8 } from './utf8.js';
import { lastFragment, longestControlBytes, masked, maskingKeyBytes, opcodes } from './websocket-frame.js';

export interface ReceiverOptions {
  /** Clients mask everything, servers nothing. */
  readonly peer: 'client' | 'server';
  readonly maxMessageBytes: number;
}

/** What has been read, in order. After `closing` or `broken` nothing more is. */
export interface ReceiverListener {
  text(text: string): void;
  /** A view: whoever keeps the bytes copies them. */
  binary(bytes: Uint8Array): void;
  ping(payload: Uint8Array): void;
  pong(): void;
  /** The peer's close; code 1005 when it gave none. */
  closing(code: number, reason: string): void;
  /** The peer broke a rule; the code is what to close with. */
  broken(code: number, problem: string): void;
}

export const closeCodes = { none: 1005, protocolError: 1002, invalidText: 1007, tooLong: 1009 } as const;

/** Two bytes, eight of length, and a key. */
const longestHeaderBytes = 14;

/** Bits that only extensions use, and there are none. */
const reservedBits = 0x70;

/** Of a length of eight bytes: it means nothing either. */
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
  /** How much of the header is there, and how much there will be as far as is known. */
  #headerBytes = 0;
  #headerLength = 2;
  /** Of the frame whose payload is being read. */
  #opcode = 0;
  #isLast = false;
  #key = 0;
  /** Bytes of the payload yet to come; undefined while a header is being read. */
  #left: number | undefined;
  /** What the message under way is; undefined between messages. */
  #message: 'text' | 'binary' | undefined;
  readonly #pieces = new Pieces();
  readonly #controlPieces = new Pieces();
  #isOver = false;

  constructor({ peer, maxMessageBytes }: ReceiverOptions, listener: ReceiverListener) {
    this.#isPeerMasking = peer === 'client';
    this.#maxMessageBytes = maxMessageBytes;
    this.#listener = listener;
  }

  /** Changes the bytes of masked payloads and keeps views of them: they belong to the receiver from now on. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.#isOver;) {
      at = this.#left === undefined ? this.#readHeader(bytes, at) : this.#readPayload(bytes, at, this.#left);
    }
  }

  /** Byte by byte, since it has few and may come in pieces. Returns where the next part begins. */
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

  /** A length need not be in its shortest form: nothing depends on it, and whoever sends it otherwise is understood all the same. */
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
    if (hasReservedBits) return 'a frame has bits set that mean nothing';
    if (isMasked !== this.#isPeerMasking) return `a frame is ${isMasked ? 'masked, and a server masks nothing' : 'not masked'}`;
    if (!knownOpcodes.has(opcode)) return `a frame has the unknown opcode ${opcode}`;
    if (isControl(opcode)) {
      if (!isLast) return 'a control frame is fragmented';
      return length > longestControlBytes ? `a control frame has ${length} bytes, ${longestControlBytes} are allowed` : undefined;
    }
    const isContinued = opcode === opcodes.continuation;
    if (isContinued === (this.#message !== undefined)) return undefined;
    return isContinued ? 'a frame continues no message' : 'a message begins before the last one has ended';
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
    if (text === undefined) return this.#break(closeCodes.invalidText, 'a text message holds invalid UTF-8');
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
      return this.#break(closeCodes.protocolError, `a close has ${code === undefined ? 'half a code' : `the code ${code}`}`);
    }
    const reason = decodeUtf8(payload.subarray(2));
    if (reason === undefined) return this.#break(closeCodes.invalidText, 'the reason of a close holds invalid UTF-8');
    this.#end(() => this.#listener.closing(code, reason));
  }

  #break(code: number, problem: string): void {
    this.#end(() => this.#listener.broken(code, problem));
  }

  #end(tell: () => void): void {
    this.#isOver = true;
    this.#pieces.clear();
    tell();
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

/** Those of RFC 6455 §7.4.1 and of the registry that may be sent, and those that programs may use as they like. */
function isCloseCode(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
}
