// Splits bytes into lines of text. Decodes only whole lines, so that a character split over two chunks is never damaged.

import { joinBytes } from '../base/join-bytes.js';

/** A line without its line feed, and without the carriage return that a terminal puts before it. */
export interface SplitLine {
  readonly text: string;
  /** `newline`: a whole line. `cut`: longer than allowed, continued in the next one. `end`: the output ended without a line feed. */
  readonly ending: 'newline' | 'cut' | 'end';
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Bytes of the longest UTF-8 character; a shorter limit could not hold even one character. */
const characterBytes = 4;

export class LineSplitter {
  readonly #maxLineBytes: number;
  /** Keeps byte order marks: lines are decoded one by one, so each line would lose one. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #parts: Uint8Array[] = [];
  #partsBytes = 0;

  constructor(maxLineBytes: number) {
    if (!(maxLineBytes >= characterBytes)) {
      throw new RangeError(
        `maxLineBytes must be at least ${characterBytes}, the length of the longest character, got ${maxLineBytes}`,
      );
    }
    this.#maxLineBytes = maxLineBytes;
  }

  *push(bytes: Uint8Array): Generator<SplitLine> {
    let rest = bytes;
    while (rest.length > 0) {
      const room = this.#maxLineBytes - this.#partsBytes;
      const at = rest.indexOf(lineFeed);
      if (at >= 0 && at <= room) {
        yield this.#take(rest.subarray(0, at), 'newline');
        rest = rest.subarray(at + 1);
      } else if (rest.length > room) {
        yield this.#cut(rest.subarray(0, room));
        rest = rest.subarray(room);
      } else {
        this.#keep(new Uint8Array(rest)); // a copy, unlike the slice of a Buffer
        return;
      }
    }
  }

  /** Returns the rest; to be called when the output has ended. */
  *flush(): Generator<SplitLine> {
    if (this.#partsBytes > 0) yield this.#take(new Uint8Array(0), 'end');
  }

  #keep(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#partsBytes += bytes.length;
  }

  /** Cuts at the limit, but not inside a character: the bytes of an incomplete character move to the next piece. */
  #cut(last: Uint8Array): SplitLine {
    this.#keep(last);
    const line = joinBytes(this.#parts);
    const end = line.length - unfinishedLength(line);
    this.#parts = [];
    this.#partsBytes = 0;
    if (end < line.length) this.#keep(new Uint8Array(line.subarray(end)));
    return { text: this.#decoder.decode(line.subarray(0, end)), ending: 'cut' };
  }

  #take(last: Uint8Array, ending: 'newline' | 'end'): SplitLine {
    this.#keep(last);
    const line = joinBytes(this.#parts);
    this.#parts = [];
    this.#partsBytes = 0;
    const end = ending === 'newline' && line.at(-1) === carriageReturn ? line.length - 1 : line.length;
    return { text: this.#decoder.decode(line.subarray(0, end)), ending };
  }
}

/** Number of bytes at the end that start a UTF-8 character without completing it. */
function unfinishedLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const byte = bytes[bytes.length - length] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // a continuation byte
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1;
    return needed > length ? length : 0;
  }
  return 0;
}
