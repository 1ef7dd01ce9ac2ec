// Bytes -> text in Node, without replacement characters: invalid UTF-8 is not text. Most messages are plain ASCII, which takes half the time.

import { isAscii, isUtf8 } from 'node:buffer';

/** Undefined when the bytes are not valid UTF-8. Keeps a byte order mark, which is no JSON. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isAscii(buffer)) return buffer.toString('latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}
