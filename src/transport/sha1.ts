// SHA-1, RFC 3174, for the handshake of a WebSocket, where it protects nothing. Ours, because Node's crypto takes 5 ms and 3 MB of
// every start, and a server that asks for no credentials needs it for nothing else.

const blockBytes = 64;

/** For short inputs: no care was taken to be fast. */
export function sha1(input: Uint8Array): Buffer {
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const padded = pad(input);
  for (let at = 0; at < padded.length; at += blockBytes) addBlock(state, padded.subarray(at, at + blockBytes));
  const digest = Buffer.alloc(20);
  for (const [index, word] of state.entries()) digest.writeInt32BE(word, index * 4);
  return digest;
}

/** A one bit, zeros, and the length in bits, up to whole blocks. */
function pad(input: Uint8Array): Buffer {
  const padded = Buffer.alloc(Math.ceil((input.length + 9) / blockBytes) * blockBytes);
  padded.set(input);
  padded[input.length] = 0x80;
  padded.writeUInt32BE(input.length * 8, padded.length - 4);
  return padded;
}

function addBlock(state: Int32Array, block: Buffer): void {
  const words = expand(block);
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = state;
  for (let round = 0; round < 80; round += 1) {
    const mixed = (rotated(a, 5) + mix(round, { b, c, d }) + e + (words[round] ?? 0)) | 0;
    [a, b, c, d, e] = [mixed, a, rotated(b, 30), c, d];
  }
  for (const [index, word] of [a, b, c, d, e].entries()) state[index] = (state[index] ?? 0) + word;
}

function expand(block: Buffer): Int32Array {
  const words = new Int32Array(80);
  for (let index = 0; index < 16; index += 1) words[index] = block.readInt32BE(index * 4);
  for (let index = 16; index < 80; index += 1) {
    const [one = 0, two = 0, three = 0, four = 0] = [words[index - 3], words[index - 8], words[index - 14], words[index - 16]];
    words[index] = rotated(one ^ two ^ three ^ four, 1);
  }
  return words;
}

function mix(round: number, { b, c, d }: { readonly b: number; readonly c: number; readonly d: number }): number {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
