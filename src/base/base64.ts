// Bytes <-> base64 text, in Node and in browsers. The only place where one becomes the other.

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

/** Bytes turned into characters per call in a browser: well under the engines' limit on arguments. */
const binarySlice = 8192;

/** The bytes, or undefined when the text is not what `encodeBase64` makes of any bytes: padded, in the standard alphabet, canonical. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const decoded = typeof Buffer === 'undefined' ? decodeWithAtob(text) : decodeWithBuffer(text);
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  // Both decoders skip some of what they do not know; a shorter result is how they say so.
  if (decoded?.length !== (text.length / 4) * 3 - padding) return undefined;
  return padding === 0 || isCanonicalEnd(text, decoded, 3 - padding) ? decoded : undefined;
}

/** Only a padded last group has bits that stand for nothing; decoders ignore them, and so it is encoded again and compared. */
function isCanonicalEnd(text: string, decoded: Uint8Array, lastBytes: number): boolean {
  return encodeBase64(decoded.subarray(-lastBytes)) === text.slice(-4);
}

function decodeWithBuffer(text: string): Uint8Array | undefined {
  // Buffer reads the URL-safe alphabet too, and looks only at the low byte of each character. These three scans cost a tenth
  // of the decoding; a pattern would cost as much again.
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
