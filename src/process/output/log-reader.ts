// A lossless cursor on a log, which takes entries in order at its own pace.

import type { Seq } from '../../protocol/index.js';
import type { LogEntry } from './log-entries.js';
import type { OutputLog } from './output-log.js';

/** An entry, and how many bytes before it had already been evicted. */
export interface Taken {
  readonly entry: LogEntry;
  readonly droppedBytes: number;
}

/** A reader's position: the number of an entry, and the bytes of all streams up to and including it. */
export interface Position {
  readonly seq: Seq;
  readonly offset: number;
}

/** When an entry counts as read: once it is taken, or only once it is acknowledged. */
export type Settlement = 'taken' | 'acknowledged';

export class LogReader {
  readonly #log: OutputLog;
  readonly #moved: () => void;
  readonly #settlement: Settlement;
  /** Last entry taken. */
  #taken: Position;
  /** Last entry that counts as read: everything after it is kept and counts as unread. */
  #settled: Position;
  /** Taken but not yet acknowledged, oldest first. */
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
    if (next !== undefined) this.#log.handOut(next.seq); // before it is settled, since it may then be evicted
    return this.borrow();
  }

  /** Like `take`, for a caller that has finished with the bytes before the next append to the log, which may reuse their memory. */
  borrow(): Taken | undefined {
    const entry = this.#isClosed ? undefined : this.#log.after(this.#taken.seq);
    if (entry === undefined) return undefined;
    const droppedBytes = entry.offset - this.#taken.offset;
    this.#taken = { seq: entry.seq, offset: entry.offset + (entry.kind === 'chunk' ? entry.bytes.length : 0) };
    if (this.#settlement === 'taken') this.#settle(this.#taken);
    else this.#outstanding.push(this.#taken);
    return { entry, droppedBytes };
  }

  /** Waits for the next entry; undefined once the reader is closed. */
  async next(): Promise<Taken | undefined> {
    for (;;) {
      const taken = this.take();
      if (taken !== undefined || this.#isClosed) return taken;
      await this.changed();
    }
  }

  /** Resolves when it is worth calling `take` again. It takes nothing itself, so a caller that stops waiting loses nothing. */
  changed(): Promise<void> {
    return this.#log.changed();
  }

  /** Like `changed`, but calls `listener` synchronously, and once. */
  onceChanged(listener: () => void): void {
    this.#log.onceChanged(listener);
  }

  /** Everything up to `seq` has arrived. Entries that were not taken are ignored. */
  acknowledge(seq: Seq): void {
    const count = this.#outstanding.findLastIndex((position) => position.seq <= seq) + 1;
    const last = this.#outstanding.splice(0, count).at(-1);
    if (last !== undefined) this.#settle(last);
  }

  /** Entries taken after `seq` did not arrive and will be taken again. Entries that arrived still need to be acknowledged. */
  rewind(seq: Seq): void {
    this.#outstanding = this.#outstanding.filter((position) => position.seq <= seq);
    this.#taken = this.#outstanding.at(-1) ?? this.#settled;
  }

  /** Detaches the reader from the log: it no longer keeps entries from eviction or holds the process. */
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
