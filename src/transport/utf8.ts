// Bytes -> text, without mending: what is not UTF-8 is not text.

/** Has no state between whole texts. Keeps a byte order mark, which is no JSON. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Undefined when the bytes are not valid UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined; // a TypeError, for nothing but invalid bytes
  }
}
