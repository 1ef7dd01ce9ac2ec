// Converts between bytes and base64 text, in Node and in browsers. The only place that does.

export function encodeBase64(decoded: Uint8Array): string {
  if (typeof Buffer !== 'undefined') {
    return Buffer.from(decoded.buffer, decoded.byteOffset, decoded.byteLength).toString('base64');
  }
  let binary = '';
  for (let at = 0; at < decoded.length; at += binarySlice) {
    binary += String.fromCharCode(...decoded.subarray(at, at + binarySlice));
  }
  return btoa(binary);
}

/** Bytes converted to characters per call in a browser: well below the engines' limit on arguments. */
const binarySlice = 8192;

/** The bytes, or undefined unless the text is padded, canonical base64 in the standard alphabet, as `encodeBase64` produces. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const decoded = typeof Buffer === 'undefined' ? decodeWithAtob(text) : decodeWithBuffer(text);
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // Both decoders skip some invalid characters, which shows as a shorter result.
  if (decoded?.length !== (text.length / 4) * 3 - padding) return undefined;
  return padding === 0 || isCanonicalEnd(text, decoded, 3 - padding) ? decoded : undefined;
}

/** A padded last group has unused bits, which decoders ignore; encoding it again shows whether they were 0. */
function isCanonicalEnd(text: string, decoded: Uint8Array, lastBytes: number): boolean {
  return encodeBase64(decoded.subarray(-lastBytes)) === text.slice(-4);
}

function decodeWithBuffer(text: string): Uint8Array | undefined {
  // Buffer also accepts the URL-safe alphabet, and looks only at the low byte of each character. These three scans cost a tenth
  // of the decoding; a regular expression would double the cost.
  if (text.includes('-') || text.includes('_') || Buffer.byteLength(text) !== text.length) return undefined;
  return Buffer.from(text, 'base64');
}

function decodeWithAtob(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
