// WebSocket frames as a client sends them: whole, in fragments, and broken in every way that RFC 6455 has a rule about.

import { sessionPlaceholder } from './calls.js';
import type { Random } from '../support/random.js';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

interface FrameOptions {
  readonly isLast?: boolean;
  readonly reservedBits?: number;
  readonly isMasked?: boolean;
  /** Overrides the length in the header. */
  readonly length?: number;
}

export function clientFrame(opcode: number, payload: Buffer, options: FrameOptions = {}): Buffer {
  const { isLast = true, reservedBits = 0, isMasked = true, length = payload.length } = options;
  const first = (isLast ? 0x80 : 0) | (reservedBits << 4) | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  // A mask of zeros is as valid as any other, and leaves the session placeholder readable so that it can be filled in.
  const mask = Buffer.from(payload.includes(sessionPlaceholder) ? [0, 0, 0, 0] : [0x12, 0x34, 0x56, 0x78]);
  const masked = isMasked ? Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))) : payload;
  return Buffer.concat([Buffer.from([first]), lengthField(length, maskBit), ...(isMasked ? [mask] : []), masked]);
}

/** One message in several frames, with a ping between them, which is allowed. */
export function fragmented(opcode: number, payload: Buffer, random: Random): Buffer {
  const cuts = Array.from({ length: 1 + random.below(4) }, () => random.below(payload.length + 1)).toSorted(
    (one, other) => one - other,
  );
  const parts = [0, ...cuts].map((from, index) => payload.subarray(from, cuts[index] ?? payload.length));
  const frames = parts.map((part, index) =>
    clientFrame(index === 0 ? opcode : opcodes.continuation, part, { isLast: index === parts.length - 1 }),
  );
  return Buffer.concat(
    frames.flatMap((frame, index) => (index === 1 ? [clientFrame(opcodes.ping, Buffer.from('hi')), frame] : [frame])),
  );
}

/** Each of these must make the server close the connection. */
export function brokenFrame(random: Random): Buffer {
  const payload = random.bytes(random.below(20));
  return random.pick([
    () => clientFrame(opcodes.text, payload, { isMasked: false }),
    () => clientFrame(opcodes.text, payload, { reservedBits: 1 + random.below(7) }),
    () => clientFrame(3 + random.below(5), payload),
    () => clientFrame(11 + random.below(5), payload),
    () => clientFrame(opcodes.continuation, payload),
    () => clientFrame(opcodes.ping, Buffer.alloc(126)),
    () => clientFrame(opcodes.ping, payload, { isLast: false }),
    () => clientFrame(opcodes.close, Buffer.from([3])),
    () => clientFrame(opcodes.close, Buffer.from([0x03, 0xed])),
    () => clientFrame(opcodes.close, Buffer.from([0x03, 0xe8, 0xff, 0xfe])),
    () => clientFrame(opcodes.text, Buffer.from([0xff, 0xfe])),
    () => clientFrame(opcodes.binary, payload, { length: 2 ** 40 }),
    () => clientFrame(opcodes.binary, payload, { length: 2 ** 53 + 2 }),
    () => Buffer.concat([clientFrame(opcodes.text, payload, { isLast: false }), clientFrame(opcodes.text, payload)]),
  ])();
}

function lengthField(length: number, maskBit: number): Buffer {
  if (length < 126) return Buffer.from([maskBit | length]);
  if (length < 65_536) return Buffer.from([maskBit | 126, length >> 8, length & 0xff]);
  const field = Buffer.alloc(9);
  field[0] = maskBit | 127;
  field.writeBigUInt64BE(BigInt(length), 1);
  return field;
}
