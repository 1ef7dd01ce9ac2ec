// The bytes of an archive as they arrive, taken in the pieces that its format asks for. Copies only what spans two chunks.

export class ArchiveBytes {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #onChunk: (chunk: Uint8Array) => void;
  readonly #chunks: Buffer[] = [];
  /** Bytes of the first chunk that have been taken. */
  #taken = 0;
  /** Bytes that have not. */
  #length = 0;

  /** `onChunk` is called for each chunk when it arrives. */
  constructor(chunks: AsyncIterable<Uint8Array>, onChunk: (chunk: Uint8Array) => void) {
    this.#source = chunks[Symbol.asyncIterator]();
    this.#onChunk = onChunk;
  }

  /** Waits for one more chunk; `ended` if there is none. */
  async more(): Promise<'more' | 'ended'> {
    const next = await this.#source.next();
    if (next.done === true) return 'ended';
    const { value } = next;
    this.#onChunk(value);
    this.#chunks.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    this.#length += value.byteLength;
    return 'more';
  }

  /** Exactly so many bytes, or undefined if they are not there yet. */
  take(count: number): Buffer | undefined {
    if (this.#length < count) return undefined;
    const some = this.takeSome(count);
    if (some.length === count) return some;
    const joined = Buffer.allocUnsafe(count);
    for (let at = some.copy(joined); at < count;) at += this.takeSome(count - at).copy(joined, at);
    return joined;
  }

  /** Up to so many bytes, without copying; none only if none are there. */
  takeSome(most: number): Buffer {
    const [first] = this.#chunks;
    if (first === undefined) return Buffer.alloc(0);
    const start = this.#taken;
    const end = Math.min(start + most, first.length);
    this.#taken = end;
    this.#length -= end - start;
    if (end === first.length) {
      this.#chunks.shift();
      this.#taken = 0;
    }
    return first.subarray(start, end);
  }

  /** Drops what has arrived. */
  discard(): void {
    this.#chunks.length = 0;
    this.#taken = 0;
    this.#length = 0;
  }

  /** Tells the source that nothing more is wanted. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
