// A lossless cursor on a log: takes entry after entry at its own pace.

import type { Seq } from '../protocol/index.js';
import type { LogEntry, OutputLog } from './output-log.js';

/** An entry, and how many bytes were gone before it when the cursor was opened too late. */
export interface Taken {
  readonly entry: LogEntry;
  readonly droppedBytes: number;
}

export class LogReader {
  readonly #log: OutputLog;
  readonly #moved: () => void;
  #seq: Seq;
  #offset: number;
  #isClosed = false;

  /** Use `OutputLog.openReader`. `moved` is called after every take and on close. */
  constructor(log: OutputLog, from: { seq: Seq; offset: number }, moved: () => void) {
    this.#log = log;
    this.#seq = from.seq;
    this.#offset = from.offset;
    this.#moved = moved;
  }

  /** Number of the last entry taken. */
  get seq(): Seq {
    return this.#seq;
  }

  /** Bytes up to and including the last entry taken. */
  get offset(): number {
    return this.#offset;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The next entry, or undefined when there is none yet. */
  take(): Taken | undefined {
    const entry = this.#isClosed ? undefined : this.#log.after(this.#seq);
    if (entry === undefined) return undefined;
    const droppedBytes = entry.offset - this.#offset;
    this.#seq = entry.seq;
    this.#offset = entry.offset + (entry.kind === 'chunk' ? entry.bytes.length : 0);
    this.#moved();
    return { entry, droppedBytes };
  }

  /** Waits for the next entry; undefined once the reader was closed. */
  async next(): Promise<Taken | undefined> {
    for (;;) {
      const taken = this.take();
      if (taken !== undefined || this.#isClosed) return taken;
      await this.#log.changed();
    }
  }

  /** The log forgets the reader: it neither pins entries nor holds the process back any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#moved();
  }
}
