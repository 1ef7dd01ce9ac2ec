// The frames that either side of a WebSocket sends, RFC 6455 §5.2: unfragmented, uncompressed, and masked if sent by a client. Each frame
// is one buffer, so that one write sends it.

import type { BinaryParts } from '../rpc/channel.js';
import type { MessageParts } from '../rpc/json-parts.js';
import { mask } from './masking.js';
import { dividedParts, partsLength, writeParts } from './message-parts.js';
import { scratchBytes, type Unwritten } from './outbox.js';
import { binaryMark } from './websocket-message.js';

export const opcodes = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** Bit of the first byte: this frame ends a message. */
export const lastFragment = 0x80;

/** Bit of the second byte: a masking key follows the length. */
export const masked = 0x80;

export const maskingKeyBytes = 4;

/** Longest payload of a control frame. */
export const longestControlBytes = 125;

/** Returns a new 32-bit number for every frame that a client masks. */
export type MaskingKeys = () => number;

const noBytes = new Uint8Array(0);

/** A whole text message, masked if `keys` is given. */
export function textFrame(text: string, keys?: MaskingKeys): Unwritten {
  return unwritten(opcodes.text, Buffer.byteLength(text), { keys, write: (frame, at) => void frame.write(text, at) });
}

/** Like `textFrame`, for a text in parts. A long frame is in pieces, to be sent one after the other, unless it is masked. */
export function textFrameOf(parts: MessageParts, keys?: MaskingKeys): readonly Unwritten[] {
  const length = partsLength(parts);
  const mostBytes = scratchBytes - longestHeaderBytes;
  if (length <= mostBytes || keys !== undefined) {
    return [unwritten(opcodes.text, length, { keys, write: (frame, at) => void writeParts(frame, at, parts) })];
  }
  return dividedParts(parts, mostBytes).map((piece, index) => {
    const bytes = partsLength(piece);
    const write = (frame: Buffer, at = 0): void => void writeParts(frame, at, piece);
    return index === 0 ? unwritten(opcodes.text, length, { keys, write, bytes }) : { length: bytes, write };
  });
}

/** One of our binary frames as a whole binary message, including its mark. */
export function binaryFrame([head, body = noBytes]: BinaryParts, keys?: MaskingKeys): Unwritten {
  const write = (frame: Buffer, at: number): void => {
    frame[at] = binaryMark;
    frame.set(head, at + 1);
    frame.set(body, at + 1 + head.length);
  };
  return unwritten(opcodes.binary, head.length + body.length + 1, { keys, write });
}

export function pingFrame(keys?: MaskingKeys): Uint8Array {
  return frameOf(opcodes.ping, 0, { keys, write() {} });
}

/** The answer to a ping, with the same payload. */
export function pongFrame(payload: Uint8Array, keys?: MaskingKeys): Uint8Array {
  return frameOf(opcodes.pong, payload.length, { keys, write: (frame, at) => frame.set(payload, at) });
}

/** Without a code, the payload is empty. A reason that is too long is truncated. */
export function closeFrame(
  { code, reason }: { readonly code?: number; readonly reason: string },
  keys?: MaskingKeys,
): Uint8Array {
  if (code === undefined) return frameOf(opcodes.close, 0, { keys, write() {} });
  const text = new Uint8Array(longestControlBytes - 2);
  const { written } = new TextEncoder().encodeInto(reason, text);
  const write = (frame: Buffer, at: number): void => {
    frame.writeUInt16BE(code, at);
    frame.set(text.subarray(0, written), at + 2);
  };
  return frameOf(opcodes.close, written + 2, { keys, write });
}

interface Payload {
  readonly keys: MaskingKeys | undefined;
  /** Writes the payload into the frame from position `at`. */
  readonly write: (frame: Buffer, at: number) => void;
  /** How much of the payload is written; all of it when absent. */
  readonly bytes?: number;
}

function frameOf(opcode: number, payloadBytes: number, payload: Payload): Buffer {
  const { length, write } = unwritten(opcode, payloadBytes, payload);
  const frame = Buffer.allocUnsafe(length);
  write(frame);
  return frame;
}

function unwritten(opcode: number, payloadBytes: number, { keys, write, bytes = payloadBytes }: Payload): Unwritten {
  const headerBytes = headerLength(payloadBytes);
  const payloadAt = headerBytes + (keys === undefined ? 0 : maskingKeyBytes);
  return {
    length: payloadAt + bytes,
    write: (frame) => {
      writeHeader(frame, opcode, payloadBytes);
      write(frame, payloadAt);
      if (keys !== undefined) maskFrame(frame, { keyAt: headerBytes, key: keys() });
    },
  };
}

function maskFrame(frame: Buffer, { keyAt, key }: { readonly keyAt: number; readonly key: number }): void {
  frame[1] = (frame[1] ?? 0) | masked;
  frame.writeInt32LE(key | 0, keyAt);
  mask(frame.subarray(keyAt + maskingKeyBytes), key);
}

/** Of a frame that is not masked. */
const longestHeaderBytes = 10;

/** The second byte holds lengths up to 125; 126 and 127 mean that the length is in the next two or eight bytes. */
function headerLength(payloadBytes: number): number {
  return payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : longestHeaderBytes;
}

function writeHeader(frame: Buffer, opcode: number, payloadBytes: number): void {
  frame[0] = lastFragment | opcode;
  if (payloadBytes < 126) {
    frame[1] = payloadBytes;
  } else if (payloadBytes < 65_536) {
    frame[1] = 126;
    frame.writeUInt16BE(payloadBytes, 2);
  } else {
    frame[1] = 127;
    frame.writeUInt32BE(Math.floor(payloadBytes / 2 ** 32), 2);
    frame.writeUInt32BE(payloadBytes % 2 ** 32, 6);
  }
}
