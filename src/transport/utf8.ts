// Bytes -> text in a browser as well as in Node, without mending: what is not UTF-8 is not text. Where only Node is, text.ts is faster.

/** Undefined when the bytes are not valid UTF-8. Keeps a byte order mark, which is no JSON. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // a TypeError, for nothing but invalid bytes
  }
}
