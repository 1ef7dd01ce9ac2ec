// A process as the client sees it: which event is expected next, how much of its output has arrived, and whether that is correct.

/** @import { Content, Piece } from './content.mjs' */

export class Followed {
  /** @type {string} */
  id;
  /**
   * Resolves with the reply to its start.
   * @type {Promise<unknown>}
   */
  started = Promise.resolve();
  /**
   * Resolves when no more events can follow, with the time of that.
   * @type {Promise<number>}
   */
  closed;
  /** @type {number | undefined} */
  exitCode;
  nextSeq = 1;
  received = 0;
  acknowledgedBytes = 0;
  /**
   * Events that arrived before their turn.
   * @type {Map<number, Buffer>}
   */
  early = new Map();
  /**
   * Called after each chunk.
   * @type {((count: number) => void) | undefined}
   */
  onOutput;
  #content;
  #total;
  /** @type {(at: number) => void} */
  #close = () => {};
  /** @type {(error: Error) => void} */
  #abandon = () => {};
  /** @type {{ bytes: number, resolve: () => void, reject: (error: Error) => void } | undefined} */
  #waiting;
  /** @type {Error | undefined} */
  #failure;

  /** @param {{ number: number, content: Content | undefined, total: number | undefined }} process */
  constructor({ number, content, total }) {
    this.id = `p${number}`;
    this.#content = content;
    this.#total = total;
    this.closed = new Promise((resolve, reject) => {
      this.#close = resolve;
      this.#abandon = reject;
    });
    this.closed.catch(() => {}); // callers that wait for it see the error
  }

  /** @param {Piece} chunk */
  takeBase64(chunk) {
    const count = this.#content?.matchesBase64(this.received, chunk) ?? -1;
    if (count === -1) this.#refuse(chunk.bytes.toString('latin1', chunk.start, chunk.end), 'base64');
    this.#took(count);
  }

  /** @param {Piece} chunk */
  takeBytes(chunk) {
    if (this.#content?.matches(this.received, chunk) !== true) {
      this.#refuse(chunk.bytes.toString('latin1', chunk.start, chunk.end), 'latin1');
    }
    this.#took(chunk.end - chunk.start);
  }

  takeClosed() {
    if (this.#total !== undefined && (this.received !== this.#total || this.exitCode !== 0)) {
      const found = `${this.received} bytes and code ${this.exitCode}`;
      throw new Error(`${this.id} closed after ${found} instead of ${this.#total} bytes and code 0`);
    }
    this.#close(performance.now());
  }

  /**
   * Resolves when this many bytes have been received in total, immediately after the chunk that completes them.
   * @param {number} bytes
   */
  async hasReceived(bytes) {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.received >= bytes) return;
    /** @type {Promise<void>} */
    const enough = new Promise((resolve, reject) => (this.#waiting = { bytes, resolve, reject }));
    await enough;
  }

  /** @param {Error} error */
  fail(error) {
    this.#failure = error;
    this.#abandon(error);
    this.#waiting?.reject(error);
  }

  /** @param {number} count */
  #took(count) {
    this.received += count;
    this.onOutput?.(count);
    if (this.#waiting === undefined || this.received < this.#waiting.bytes) return;
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    resolve();
  }

  /**
   * @param {string} text
   * @param {BufferEncoding} encoding
   * @returns {never}
   */
  #refuse(text, encoding) {
    const found = JSON.stringify(Buffer.from(text, encoding).toString('latin1').slice(0, 80));
    throw new Error(`${this.id} sent wrong bytes from offset ${this.received} on: ${found}`);
  }
}
