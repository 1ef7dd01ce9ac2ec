// Decodes UTF-8 in Node and rejects invalid bytes instead of replacing them. Most messages are ASCII, which takes half the time.

import { isAscii, isUtf8 } from 'node:buffer';

/** Undefined when the bytes are not valid UTF-8. Keeps a byte order mark, which is not valid JSON. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isAscii(buffer)) return buffer.toString('latin1');
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined;
}
