// Bytes -> lines of text. Cuts at bytes and decodes whole lines, so a character split over two chunks is never damaged.

/** A line without its line feed, and without the carriage return a terminal puts before it. */
export interface SplitLine {
  readonly text: string;
  /** `newline`: a whole line. `cut`: it was longer than allowed and goes on in the next one. `end`: the output ended without a line feed. */
  readonly ending: 'newline' | 'cut' | 'end';
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class LineSplitter {
  readonly #maxLineBytes: number;
  readonly #decoder = new TextDecoder();
  #parts: Uint8Array[] = [];
  #partsBytes = 0;

  constructor(maxLineBytes: number) {
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
        this.#keep(rest.slice());
        return;
      }
    }
  }

  /** What is left when the output has ended. */
  *flush(): Generator<SplitLine> {
    if (this.#partsBytes > 0) yield this.#take(new Uint8Array(0), 'end');
  }

  #keep(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#partsBytes += bytes.length;
  }

  /** Cuts at the limit, but not inside a character: its first bytes go to the next piece. */
  #cut(last: Uint8Array): SplitLine {
    this.#keep(last);
    const line = joined(this.#parts, this.#partsBytes);
    const whole = line.length - unfinishedLength(line);
    const end = whole > 0 ? whole : line.length;
    this.#parts = [];
    this.#partsBytes = 0;
    if (end < line.length) this.#keep(line.slice(end));
    return { text: this.#decoder.decode(line.subarray(0, end)), ending: 'cut' };
  }

  #take(last: Uint8Array, ending: 'newline' | 'end'): SplitLine {
    this.#keep(last);
    const line = joined(this.#parts, this.#partsBytes);
    this.#parts = [];
    this.#partsBytes = 0;
    const end = ending === 'newline' && line.at(-1) === carriageReturn ? line.length - 1 : line.length;
    return { text: this.#decoder.decode(line.subarray(0, end)), ending };
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Bytes at the end that begin a UTF-8 character without finishing it. */
function unfinishedLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const byte = bytes[bytes.length - length] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // goes on an earlier one
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1;
    return needed > length ? length : 0;
  }
  return 0;
}
