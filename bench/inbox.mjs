// Received bytes that wait to be parsed, in one buffer that is read into and parsed in place: a client that copies little leaves the
// processors to the servers it measures.

/** With less free space than this, in bytes, the unread rest moves to the front: about as much as a read usually delivers. */
const leastRoomBytes = 256 * 1024;

/**
 * @typedef {object} WireHandlers called by a wire with parts of its inbox
 * @property {(bytes: Buffer, start: number, end: number) => void} onText
 * @property {(bytes: Buffer, start: number, end: number) => void} onBinary an output frame
 * @property {(error: Error) => void} onEnd
 */
/** @typedef {{ send: (text: string) => void, pause: () => void, resume: () => void, close: () => void }} Wire */

export class Inbox {
  /** @type {Buffer} */
  bytes = Buffer.allocUnsafeSlow(2 * 1024 * 1024);
  /** The bytes from `start` to `end` are unread. */
  start = 0;
  end = 0;

  /** Where to put the next bytes; call `took` with their number afterwards. */
  room() {
    if (this.start === this.end) this.start = this.end = 0;
    if (this.bytes.length - this.end < leastRoomBytes) this.#makeRoom();
    return this.bytes.subarray(this.end);
  }

  /** @param {number} count */
  took(count) {
    this.end += count;
  }

  /** @param {Buffer} piece */
  append(piece) {
    let from = 0;
    while (from < piece.length) {
      const count = piece.copy(this.room(), 0, from);
      this.took(count);
      from += count;
    }
  }

  /** A message longer than half of the buffer gets a larger one. */
  #makeRoom() {
    const unread = this.end - this.start;
    const next = unread > this.bytes.length / 2 ? Buffer.allocUnsafeSlow(this.bytes.length * 2) : this.bytes;
    this.bytes.copy(next, 0, this.start, this.end);
    this.bytes = next;
    this.start = 0;
    this.end = unread;
  }
}

/** @param {unknown} thrown */
export function asError(thrown) {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
