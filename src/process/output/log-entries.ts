// The retained entries of a log in two parts, each ordered by sequence number: those kept for good, and a tail that is evicted from the front.

import { Ring } from '../../base/ring.js';
import type { Ending, Seq, Stream } from '../../protocol/index.js';

/** `offset` counts the bytes of all streams before this entry, dropped ones included. */
export type LogEntry =
  | { readonly kind: 'chunk'; readonly seq: Seq; readonly offset: number; readonly stream: Stream; readonly bytes: Uint8Array }
  | { readonly kind: 'exited'; readonly seq: Seq; readonly offset: number; readonly ending: Ending }
  | { readonly kind: 'closed'; readonly seq: Seq; readonly offset: number; readonly survivors: readonly number[] };

export class LogEntries {
  /** The beginning of each stream, and the events. */
  readonly #kept: LogEntry[] = [];
  readonly #tail = new Ring<LogEntry>();

  get count(): number {
    return this.#kept.length + this.#tail.length;
  }

  get keptCount(): number {
    return this.#kept.length;
  }

  get oldestOfTail(): LogEntry | undefined {
    return this.#tail.at(0);
  }

  keep(entry: LogEntry): void {
    this.#kept.push(entry);
  }

  addToTail(entry: LogEntry): void {
    this.#tail.push(entry);
  }

  dropOldestOfTail(): void {
    this.#tail.shift();
  }

  after(cursor: Seq): LogEntry | undefined {
    const kept = this.#kept[firstAfter(this.#kept, cursor)];
    const tail = this.#tail.at(firstAfter(this.#tail, cursor));
    if (kept === undefined || tail === undefined) return kept ?? tail;
    return kept.seq < tail.seq ? kept : tail;
  }

  /** Offset just past the last retained entry up to `seq`; for a cursor inside a hole, the beginning of the hole. */
  endUpTo(seq: Seq): number {
    const kept = this.#kept[firstAfter(this.#kept, seq) - 1];
    const tail = this.#tail.at(firstAfter(this.#tail, seq) - 1);
    return Math.max(endOf(kept), endOf(tail));
  }

  bytesOf(stream: Stream): { readonly head: Uint8Array; readonly tail: Uint8Array } {
    return { head: chunksOf(stream, this.#kept), tail: chunksOf(stream, this.#tail) };
  }
}

export function endOf(entry: LogEntry | undefined): number {
  if (entry === undefined) return 0;
  return entry.offset + (entry.kind === 'chunk' ? entry.bytes.length : 0);
}

/** Index of the first entry whose `seq` is greater than `cursor`. */
function firstAfter(entries: Pick<Ring<LogEntry>, 'at' | 'length'>, cursor: Seq): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries.at(middle)?.seq ?? Infinity) > cursor) high = middle;
    else low = middle + 1;
  }
  return low;
}

function chunksOf(stream: Stream, entries: Iterable<LogEntry>): Uint8Array {
  return Buffer.concat(
    Array.from(entries).flatMap((entry) => (entry.kind === 'chunk' && entry.stream === stream ? [entry.bytes] : [])),
  );
}
