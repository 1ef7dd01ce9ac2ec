// The only copy of a process's output: sequenced, bounded in bytes and entries, read by any number of cursors.
// The first bytes of each stream are never evicted, the last ones are kept as far as the bounds allow; between them there may be a hole.

import type { Clock } from '../../base/clock.js';
import type { Ending, RetainedStream, Seq, Stream } from '../../protocol/index.js';
import { copyOf, reuse } from './chunk-memory.js';
import { LogEntries, type LogEntry, endOf } from './log-entries.js';
import { LogReader, type Position, type Settlement } from './log-reader.js';

export interface Retention {
  /** Output retained per process. */
  readonly retainedBytes: number;
  /** Entries retained per process: bounds the overhead of thousands of tiny writes. */
  readonly retainedEntries: number;
  /** The part of `retainedBytes` reserved for the beginning of each stream. */
  readonly headBytes: number;
}

/** The retained entries after a cursor, across holes; a byte limit may end the page before the end of the log. */
export interface LogPage {
  readonly entries: readonly LogEntry[];
  readonly nextSeq: Seq;
  /** Bytes of all streams up to the cursor. */
  readonly fromBytes: number;
  /** Bytes of all streams before `nextSeq`. */
  readonly nextBytes: number;
  /** Bytes between the two that have been evicted. */
  readonly droppedBytes: number;
}

/** Estimated memory of one entry besides its bytes: the entry, the view of its bytes, and its slot in a list. */
const entryBytes = 200;

interface StreamCount {
  totalBytes: number;
  retainedBytes: number;
}

export class OutputLog {
  readonly #retention: Retention;
  readonly #entries = new LogEntries();
  #nextSeq: Seq = 1;
  /** Callers may hold the bytes of entries up to this one, so their memory is not reused. */
  #handedOut: Seq = 0;
  #totalBytes = 0;
  #retainedBytes = 0;
  // Thousands of closed processes are kept, and most wrote to one stream or none: arrays and properties are smaller than sets and maps.
  readonly #streams: { [stream in Stream]?: StreamCount } = {};
  #endedStreams: Stream[] = [];
  #readers: LogReader[] = [];
  #waiters: (() => void)[] = [];
  #onRead: () => void = () => {};

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  get nextSeq(): Seq {
    return this.#nextSeq;
  }

  /** Bytes appended so far, evicted ones included. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  get droppedBytes(): number {
    return this.#totalBytes - this.#retainedBytes;
  }

  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  /** Approximate memory of the log: many small entries take more than their bytes. */
  get keptBytes(): number {
    return this.#retainedBytes + this.#entries.count * entryBytes;
  }

  /** Bytes that the slowest reader has not settled yet. */
  get unreadBytes(): number {
    let unread = 0;
    for (const reader of this.#readers) unread = Math.max(unread, this.#totalBytes - reader.settled.offset);
    return unread;
  }

  /** Copies `bytes`. */
  append(stream: Stream, bytes: Uint8Array): void {
    const count = (this.#streams[stream] ??= { totalBytes: 0, retainedBytes: 0 });
    const entry: LogEntry = { kind: 'chunk', seq: this.#nextSeq, offset: this.#totalBytes, stream, bytes: copyOf(bytes) };
    if (this.#isHead(count)) this.#entries.keep(entry);
    else this.#entries.addToTail(entry);
    count.totalBytes += bytes.length;
    count.retainedBytes += bytes.length;
    this.#totalBytes += bytes.length;
    this.#retainedBytes += bytes.length;
    this.#evict();
    this.#advance();
  }

  appendExited(ending: Ending): void {
    this.#entries.keep({ kind: 'exited', seq: this.#nextSeq, offset: this.#totalBytes, ending });
    this.#advance();
  }

  appendClosed(survivors: readonly number[]): void {
    this.#entries.keep({ kind: 'closed', seq: this.#nextSeq, offset: this.#totalBytes, survivors });
    this.#advance();
  }

  /** Returns at least one chunk if there is one, however small `maxBytes` is, and the events after the last chunk that fits. */
  readAfter(cursor: Seq, maxBytes: number, afterBytes?: number): LogPage {
    const { seq, offset: fromBytes } = this.#positionOf(cursor, afterBytes);
    const entries: LogEntry[] = [];
    let bytes = 0;
    let next = this.after(seq);
    for (; next !== undefined; next = this.after(next.seq)) {
      const length = next.kind === 'chunk' ? next.bytes.length : 0;
      if (length > 0 && bytes > 0 && bytes + length > maxBytes) break;
      entries.push(next);
      bytes += length;
    }
    const last = entries.at(-1);
    if (last !== undefined) this.handOut(last.seq);
    // Without a next entry the page reaches the end of the log, even if the newest output has been evicted.
    const nextSeq = next === undefined || last === undefined ? this.#nextSeq : last.seq + 1;
    const nextBytes = next === undefined ? this.#totalBytes : endOf(last);
    return { entries, nextSeq, fromBytes, nextBytes, droppedBytes: nextBytes - fromBytes - bytes };
  }

  /** Bytes of all streams up to the cursor. Inside a hole, trusts the caller's `afterBytes`; without it, the hole's bytes do not count. */
  bytesUpTo(cursor: Seq, afterBytes?: number): number {
    return this.#positionOf(cursor, afterBytes).offset;
  }

  /** The first retained entry after the cursor. Its bytes are valid until the next append, unless `handOut` is called for it. */
  after(cursor: Seq): LogEntry | undefined {
    return this.#entries.after(cursor);
  }

  /** Lets callers keep the bytes of entries up to this one. */
  handOut(seq: Seq): void {
    this.#handedOut = Math.max(this.#handedOut, seq);
  }

  /** The retained beginning and end of one stream; undefined if nothing was ever written to it. */
  retained(stream: Stream): RetainedStream | undefined {
    const count = this.#streams[stream];
    if (count === undefined) return undefined;
    const droppedBytes = count.totalBytes - count.retainedBytes;
    return { ...this.#entries.bytesOf(stream), truncated: droppedBytes > 0, droppedBytes };
  }

  /**
   * A reader that loses nothing after `cursor`: entries that it has not settled are not evicted and count as unread. `afterBytes`, if the
   * caller knows it, is the byte position of a cursor inside a hole.
   */
  openReader(cursor: Seq, settlement: Settlement = 'taken', afterBytes?: number): LogReader {
    const moved = () => {
      if (reader.isClosed) {
        this.#readers = this.#readers.filter((other) => other !== reader);
        this.#wake();
      }
      this.#evict();
      this.#onRead();
    };
    const reader = new LogReader(this, this.#positionOf(cursor, afterBytes), { settlement, moved });
    this.#readers.push(reader);
    return reader;
  }

  /** A reader that holds nothing up: entries may be evicted before it takes them, and it is given the number of bytes it missed. */
  openViewer(cursor: Seq, afterBytes?: number): LogReader {
    const moved = () => {
      if (viewer.isClosed) this.#wake();
    };
    const viewer = new LogReader(this, this.#positionOf(cursor, afterBytes), { settlement: 'taken', moved });
    return viewer;
  }

  /** No more output will be appended to this stream. */
  endStream(stream: Stream): void {
    this.#endedStreams.push(stream);
    this.#wake();
  }

  hasEnded(stream: Stream): boolean {
    return this.#endedStreams.includes(stream);
  }

  /** Resolves at the next append or end of a stream, after `ms`, or when the signal is aborted; may also resolve spuriously. */
  changed(patience?: { readonly clock: Clock; readonly ms: number; readonly signal?: AbortSignal }): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiters = this.#waiters.filter((other) => other !== wake);
        timer?.cancel();
        patience?.signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = patience?.ms === Infinity ? undefined : patience?.clock.after(patience.ms, wake);
      patience?.signal?.addEventListener('abort', wake);
      this.#waiters.push(wake);
    });
  }

  /** Calls `listener` once, synchronously at the next append; may also call it spuriously. */
  onceChanged(listener: () => void): void {
    this.#waiters.push(listener);
  }

  /** `listener` is called whenever a reader settles entries or closes. */
  onRead(listener: () => void): void {
    this.#onRead = listener;
  }

  /** Whether the next chunk belongs to the stream's beginning, which must leave most of the space to its end. Once false, stays false. */
  #isHead({ totalBytes }: StreamCount): boolean {
    const { headBytes, retainedBytes, retainedEntries } = this.#retention;
    return totalBytes < Math.min(headBytes, retainedBytes / 4) && this.#entries.keptCount < retainedEntries / 4;
  }

  #advance(): void {
    this.#nextSeq += 1;
    this.#wake();
  }

  /** A waiter that is added during the calls waits for the next change. */
  #wake(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #evict(): void {
    let floor = Infinity;
    for (const reader of this.#readers) floor = Math.min(floor, reader.settled.seq);
    for (;;) {
      const oldest = this.#entries.oldestOfTail;
      const isFull = this.#retainedBytes > this.#retention.retainedBytes || this.#entries.count > this.#retention.retainedEntries;
      if (!isFull || oldest?.kind !== 'chunk' || oldest.seq > floor) break;
      this.#entries.dropOldestOfTail();
      if (oldest.seq > this.#handedOut) reuse(oldest.bytes);
      this.#retainedBytes -= oldest.bytes.length;
      const count = this.#streams[oldest.stream];
      if (count !== undefined) count.retainedBytes -= oldest.bytes.length;
    }
  }

  #positionOf(cursor: Seq, afterBytes: number = 0): Position {
    const lastSeq = this.#nextSeq - 1;
    // A position past the end would wait for numbers far in the future, and hold the process.
    if (cursor >= lastSeq) return { seq: lastSeq, offset: this.#totalBytes };
    const holeEnd = this.after(cursor)?.offset ?? this.#totalBytes;
    return { seq: cursor, offset: Math.min(Math.max(this.#entries.endUpTo(cursor), afterBytes), holeEnd) };
  }
}
