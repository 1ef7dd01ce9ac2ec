// The bytes of an archive as they arrive, taken in the pieces that its format asks for. Copies only what spans two chunks.

export class ArchiveBytes {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #onChunk: (chunk: Uint8Array) => void;
  readonly #chunks: Buffer[] = [];
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
    const [first] = this.#chunks;
    if (first === undefined || first.length >= count) return this.takeSome(count);
    const joined = Buffer.allocUnsafe(count);
    for (let at = 0; at < count;) at += this.takeSome(count - at).copy(joined, at);
    return joined;
  }

  /** Up to so many bytes, without copying; none only if none are there. */
  takeSome(most: number): Buffer {
    const first = this.#chunks[0] ?? Buffer.alloc(0);
    const taken = first.subarray(0, most);
    if (taken.length === first.length) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(taken.length);
    this.#length -= taken.length;
    return taken;
  }

  /** Drops what has arrived. */
  discard(): void {
    this.#chunks.length = 0;
    this.#length = 0;
  }

  /** Tells the source that nothing more is wanted. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
