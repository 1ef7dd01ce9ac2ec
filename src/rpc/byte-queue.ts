// Bytes in order, each with its offset since the beginning. Copies small pieces together, so that a million tiny ones take no more memory
// than their bytes; keeps large ones as they are.

/** Pieces below this many bytes are copied together, into buffers of this size. */
const smallBytes = 4096;

const noBytes = new Uint8Array(0);

interface Piece {
  readonly offset: number;
  bytes: Uint8Array;
}

export class ByteQueue {
  readonly #pieces: Piece[] = [];
  #start = 0;
  #end = 0;
  /** Where small pieces are copied to; `#used` bytes of it belong to pieces, which may have left the queue. */
  #collector: Uint8Array = noBytes;
  #used = 0;

  /** Offset of the first byte in the queue. */
  get start(): number {
    return this.#start;
  }

  /** Offset after the last byte. */
  get end(): number {
    return this.#end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** The caller must not change the bytes afterwards. */
  append(bytes: Uint8Array): void {
    if (bytes.length >= smallBytes) return this.#push(bytes);
    for (let rest = bytes; rest.length > 0;) rest = this.#collect(rest);
  }

  /** Removes and returns the first piece. */
  take(): Uint8Array | undefined {
    const piece = this.#pieces.shift();
    if (piece === undefined) return undefined;
    this.#start += piece.bytes.length;
    return piece.bytes;
  }

  /** Up to `maxBytes` in a row from an offset within the queue; empty at its end. */
  from(offset: number, maxBytes: number): Uint8Array {
    // Searched from the end, because nearly always the newest bytes are asked for.
    const piece = this.#pieces.findLast((each) => each.offset <= offset);
    if (piece === undefined) return noBytes;
    const skipped = offset - piece.offset;
    return piece.bytes.subarray(skipped, skipped + maxBytes);
  }

  /** Removes everything before an offset within the queue. */
  discard(offset: number): void {
    for (let [piece] = this.#pieces; piece !== undefined && piece.offset + piece.bytes.length <= offset; [piece] = this.#pieces) {
      this.#pieces.shift();
    }
    this.#start = offset;
  }

  clear(): void {
    this.#pieces.length = 0;
    this.#start = this.#end;
  }

  #push(bytes: Uint8Array): void {
    this.#pieces.push({ offset: this.#end, bytes });
    this.#end += bytes.length;
  }

  /** Returns the part that did not fit. */
  #collect(bytes: Uint8Array): Uint8Array {
    if (this.#used === this.#collector.length) {
      this.#collector = new Uint8Array(smallBytes);
      this.#used = 0;
    }
    const taken = bytes.subarray(0, this.#collector.length - this.#used);
    this.#collector.set(taken, this.#used);
    const last = this.#pieces.at(-1);
    const begin = last?.bytes.buffer === this.#collector.buffer ? last.bytes.byteOffset : undefined;
    this.#used += taken.length;
    if (last === undefined || begin === undefined) this.#push(this.#collector.subarray(this.#used - taken.length, this.#used));
    else {
      last.bytes = this.#collector.subarray(begin, this.#used);
      this.#end += taken.length;
    }
    return bytes.subarray(taken.length);
  }
}
