// Puts together what a terminal gives in pieces of 4 KiB, so that a flood makes an eighth of the entries, messages and wake-ups. The
// first piece goes on at once; those that follow without a pause wait for each other, never for time to pass.

/** As much as is put together. More gains little. */
const burstBytes = 32 * 1024;

export class Burst {
  readonly #passOn: (bytes: Uint8Array) => void;
  #buffer: Buffer | undefined;
  #length = 0;
  #isUnderWay = false;
  #hasGrown = false;

  constructor(passOn: (bytes: Uint8Array) => void) {
    this.#passOn = passOn;
  }

  /** Copies what it keeps. */
  add(bytes: Uint8Array): void {
    this.#hasGrown = true;
    if (!this.#isUnderWay) {
      this.#isUnderWay = true;
      setImmediate(this.#endTurn);
      return this.#passOn(bytes);
    }
    if (this.#length + bytes.length > burstBytes) this.flush();
    if (bytes.length > burstBytes) return this.#passOn(bytes);
    this.#buffer ??= Buffer.allocUnsafeSlow(burstBytes);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Passes on what was kept. */
  flush(): void {
    if (this.#buffer === undefined || this.#length === 0) return;
    const bytes = this.#buffer.subarray(0, this.#length);
    this.#length = 0;
    this.#passOn(bytes);
  }

  /** A turn of the event loop has polled the terminal; if it brought nothing, the burst is over. */
  readonly #endTurn = (): void => {
    if (this.#hasGrown) {
      this.#hasGrown = false;
      setImmediate(this.#endTurn);
      return;
    }
    this.flush();
    this.#buffer = undefined;
    this.#isUnderWay = false;
  };
}
