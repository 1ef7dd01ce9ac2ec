// A lossless cursor on a log: takes entry after entry at its own pace.

import type { Seq } from '../../protocol/index.js';
import type { LogEntry, OutputLog } from './output-log.js';

/** An entry, and how many bytes were gone before it when the cursor was opened too late. */
export interface Taken {
  readonly entry: LogEntry;
  readonly droppedBytes: number;
}

/** Where a reader stands: the number of an entry, and the bytes up to and including it. */
export interface Position {
  readonly seq: Seq;
  readonly offset: number;
}

/** When an entry counts as read: once taken, or only once the taker has acknowledged it. */
export type Settlement = 'taken' | 'acknowledged';

export class LogReader {
  readonly #log: OutputLog;
  readonly #moved: () => void;
  readonly #settlement: Settlement;
  /** Last entry taken. */
  #taken: Position;
  /** Last entry that is done with: everything after it is kept and counts as unread. */
  #settled: Position;
  /** Taken and not yet acknowledged, oldest first. */
  #outstanding: Position[] = [];
  #isClosed = false;

  /** Use `OutputLog.openReader`. `moved` is called whenever entries are settled, and on close. */
  constructor(log: OutputLog, from: Position, { settlement, moved }: { settlement: Settlement; moved: () => void }) {
    this.#log = log;
    this.#taken = from;
    this.#settled = from;
    this.#settlement = settlement;
    this.#moved = moved;
  }

  get settled(): Position {
    return this.#settled;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The next entry, or undefined when there is none yet. */
  take(): Taken | undefined {
    const next = this.#isClosed ? undefined : this.#log.after(this.#taken.seq);
    if (next !== undefined) this.#log.handOut(next.seq); // before it is settled, and so perhaps evicted
    return this.borrow();
  }

  /** The same, for whoever is done with the bytes before anything more is written to the log: their memory is used again. */
  borrow(): Taken | undefined {
    const entry = this.#isClosed ? undefined : this.#log.after(this.#taken.seq);
    if (entry === undefined) return undefined;
    const droppedBytes = entry.offset - this.#taken.offset;
    this.#taken = { seq: entry.seq, offset: entry.offset + (entry.kind === 'chunk' ? entry.bytes.length : 0) };
    if (this.#settlement === 'taken') this.#settle(this.#taken);
    else this.#outstanding.push(this.#taken);
    return { entry, droppedBytes };
  }

  /** Waits for the next entry; undefined once the reader was closed. */
  async next(): Promise<Taken | undefined> {
    for (;;) {
      const taken = this.take();
      if (taken !== undefined || this.#isClosed) return taken;
      await this.changed();
    }
  }

  /** Resolves when it is worth trying to take again. Takes nothing, so whoever stops waiting has lost nothing. */
  changed(): Promise<void> {
    return this.#log.changed();
  }

  /** The same, called in the very moment, and once. */
  onceChanged(listener: () => void): void {
    this.#log.onceChanged(listener);
  }

  /** Everything up to `seq` has arrived where it should. Numbers that were not taken are ignored. */
  acknowledge(seq: Seq): void {
    const count = this.#outstanding.findLastIndex((position) => position.seq <= seq) + 1;
    const last = this.#outstanding.splice(0, count).at(-1);
    if (last !== undefined) this.#settle(last);
  }

  /** What was taken after `seq` did not arrive: take it again. What arrived still waits for its acknowledgement. */
  rewind(seq: Seq): void {
    this.#outstanding = this.#outstanding.filter((position) => position.seq <= seq);
    this.#taken = this.#outstanding.at(-1) ?? this.#settled;
  }

  /** The log forgets the reader: it neither pins entries nor holds the process back any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#moved();
  }

  #settle(position: Position): void {
    this.#settled = position;
    this.#moved();
  }
}
