// What the measured processes write: one block, repeated. The offset determines every byte after it, so output is checked by comparing
// memory with memory, in base64 too, at several gigabytes per second: the check costs little, and the same for both servers.

/** Longest piece compared at once; a longer chunk takes several comparisons. */
const pieceBytes = 66 * 1024;
const alphabet = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const padding = 0x3d;

/** Three bytes are four characters, so a block whose length is divisible by three is periodic in base64 too. */
const groupBytes = 3;
const groupChars = 4;

/** @typedef {{ bytes: Buffer, start: number, end: number }} Piece a part of a buffer */

export class Content {
  #period;
  #bytes;
  /** Base64 of the content after an offset, for each remainder of the offset divided by three. */
  #texts;

  /** @param {Buffer} block at least one byte */
  constructor(block) {
    const whole = block.length % groupBytes === 0 ? block : Buffer.concat([block, block, block]);
    this.#period = whole.length;
    this.#bytes = Buffer.alloc(this.#period + pieceBytes + groupBytes, whole);
    this.#texts = [0, 1, 2].map((shift) => Buffer.from(this.#bytes.toString('base64', shift, shift + this.#period + pieceBytes)));
  }

  /**
   * The bytes from an offset on; `count` is at most the length of a piece.
   * @param {number} offset
   * @param {number} count
   */
  slice(offset, count) {
    const from = offset % this.#period;
    return this.#bytes.subarray(from, from + count);
  }

  /**
   * A copy of any length.
   * @param {number} offset
   * @param {number} count
   */
  bytesAt(offset, count) {
    const period = this.#bytes.subarray(0, this.#period);
    const from = offset % this.#period;
    return Buffer.alloc(from + count, period).subarray(from);
  }

  /**
   * @param {number} offset
   * @param {Piece} piece
   */
  matches(offset, { bytes, start, end }) {
    let at = offset;
    for (let from = start; from < end;) {
      const to = Math.min(end, from + pieceBytes);
      const expected = at % this.#period;
      if (bytes.compare(this.#bytes, expected, expected + to - from, from, to) !== 0) return false;
      at += to - from;
      from = to;
    }
    return true;
  }

  /**
   * @param {number} offset
   * @param {Piece} piece
   * @returns {number} how many bytes the text encodes; -1 if they are not the expected ones
   */
  matchesBase64(offset, { bytes, start, end }) {
    if ((end - start) % groupChars !== 0 || start === end) return start === end ? 0 : -1;
    const padded = bytes[end - 2] === padding ? 2 : bytes[end - 1] === padding ? 1 : 0;
    const groupsEnd = padded === 0 ? end : end - groupChars;
    const pieceChars = (pieceBytes / groupBytes) * groupChars;
    let at = offset;
    for (let from = start; from < groupsEnd;) {
      const to = Math.min(groupsEnd, from + pieceChars);
      const expected = at % this.#period;
      const shift = expected % groupBytes;
      const textAt = ((expected - shift) / groupBytes) * groupChars;
      if (bytes.compare(this.#texts[shift], textAt, textAt + to - from, from, to) !== 0) return -1;
      at += ((to - from) / groupChars) * groupBytes;
      from = to;
    }
    if (padded === 0) return at - offset;
    return this.#endsWith(at, { bytes, start: groupsEnd, left: groupBytes - padded }) ? at - offset + groupBytes - padded : -1;
  }

  /**
   * Compares the last one or two bytes, with their padding.
   * @param {number} offset
   * @param {{ bytes: Buffer, start: number, left: number }} end
   */
  #endsWith(offset, { bytes, start, left }) {
    const [first, second] = this.slice(offset, 2);
    const next = left === 2 ? second : 0;
    return (
      bytes[start] === alphabet[first >> 2] &&
      bytes[start + 1] === alphabet[((first & 0x03) << 4) | (next >> 4)] &&
      bytes[start + 2] === (left === 2 ? alphabet[(next & 0x0f) << 2] : padding)
    );
  }
}

/** A process on a terminal prints this when the terminal is ready; the block begins with it. */
export const readyMark = 'ok.';

/**
 * Has no factor in common with a power of two, so bytes that are lost, duplicated or moved by whole pages or pipes are out of phase, and
 * detected.
 */
const floodBlockBytes = 65_523;
const firstPrintable = 0x20;
const printableCount = 95;

/** Printable, because codex changes line endings written to a terminal; in an order without short repetitions. */
export function floodBlock() {
  const block = Buffer.alloc(floodBlockBytes);
  let state = 1;
  for (let at = 0; at < block.length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    block[at] = firstPrintable + ((state >>> 16) % printableCount);
  }
  block.write(readyMark, 'latin1');
  return block;
}
