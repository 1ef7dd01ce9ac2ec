// The text of one message in parts, written straight into the bytes that go out. Making the text of the whole first costs six times as
// much for a chunk of 64 KiB: it is put together, measured and copied, character by character.

import { encodeBase64 } from '../base/base64.js';
import type { MessageParts } from '../rpc/json-parts.js';

/** How many bytes the parts are as UTF-8, base64 included. */
export function partsLength(parts: MessageParts): number {
  let length = 0;
  for (const part of parts) length += typeof part === 'string' ? Buffer.byteLength(part) : base64Length(part.length);
  return length;
}

/** Returns where the text ends in `room`. */
export function writeParts(room: Buffer, from: number, parts: MessageParts): number {
  let at = from;
  for (const part of parts) {
    at += typeof part === 'string' ? room.write(part, at) : room.write(encodeBase64(part), at, 'latin1');
  }
  return at;
}

function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
