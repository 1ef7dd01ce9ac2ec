// Random sequences of appends, readers and reads, compared with the simplest possible model: a list of everything appended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogReader, Settlement } from '#src/process/output/log-reader.js';
import type { LogEntry } from '#src/process/output/log-entries.js';
import { OutputLog, type Retention } from '#src/process/output/output-log.js';
import type { Ending, Stream } from '#src/protocol/index.js';

const streams = ['stdout', 'stderr'] as const;
const largestChunk = 20;
const largestHead = 30;

/** Room for both heads, the chunk that begins in each, and one more chunk: enough to keep both the bounds and the newest output. */
const retention = fc.record({
  retainedBytes: fc.integer({ min: 2 * (largestHead + largestChunk) + largestChunk, max: 400 }),
  retainedEntries: fc.integer({ min: 8, max: 60 }),
  headBytes: fc.integer({ min: 0, max: largestHead }),
});

const number = fc.nat(10_000);
const chunk = fc.record({ stream: fc.constantFrom(...streams), length: fc.integer({ min: 1, max: largestChunk }) });
const anyOperation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('append' as const), chunks: fc.array(chunk, { minLength: 1, maxLength: 8 }) }),
  },
  // Enough small chunks in a row to make the log compact its ring.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('flood' as const), chunk, count: fc.integer({ min: 1, max: 1_500 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      cursor: number,
      settlement: fc.constantFrom('taken' as const, 'acknowledged' as const),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('take' as const), reader: number, count: fc.nat(12) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('acknowledge' as const, 'rewind' as const), reader: number, seq: number }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('close' as const), reader: number }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('read' as const), cursor: number, maxBytes: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'exited' as const }) },
);
type Operation = typeof anyOperation extends fc.Arbitrary<infer T> ? T : never;

const ending: Ending = { kind: 'lost', reason: 'exited', outputComplete: true, droppedBytes: 0, startedAt: 0, endedAt: 0 };

test('for any appends and reads, every reader sees what it is promised and the log stays within its bounds', () => {
  fc.assert(
    fc.property(retention, fc.array(anyOperation, { maxLength: 30, size: 'max' }), (bounds, operations) => {
      const model = new Model(bounds);
      for (const each of operations) {
        model.apply(each);
        model.check();
      }
    }),
  );
});

interface ModelReader {
  readonly reader: LogReader;
  readonly settlement: Settlement;
  /** Entries that it must still get, in order, from the first that is not settled. */
  readonly due: LogEntry[];
  /** How many of them it has taken. */
  taken: number;
  /** Where the last settled entry ended. */
  end: number;
}

class Model {
  readonly #bounds: Retention;
  readonly #log: OutputLog;
  readonly #appended: LogEntry[] = [];
  #readers: ModelReader[] = [];

  constructor(bounds: Retention) {
    this.#bounds = bounds;
    this.#log = new OutputLog(bounds);
  }

  apply(operation: Operation): void {
    switch (operation.kind) {
      case 'append':
        for (const { stream, length } of operation.chunks) this.#append(stream, length);
        return;
      case 'flood':
        for (let at = 0; at < operation.count; at += 1) this.#append(operation.chunk.stream, operation.chunk.length);
        return;
      case 'exited':
        if (this.#appended.some(({ kind }) => kind === 'exited')) return; // a process exits only once
        this.#appended.push({ kind: 'exited', seq: this.#appended.length + 1, offset: this.#totalBytes, ending });
        this.#log.appendExited(ending);
        this.#expectNewest();
        return;
      case 'open':
        return this.#open(operation.cursor % (this.#appended.length + 3), operation.settlement);
      case 'take':
      case 'acknowledge':
      case 'rewind':
      case 'close': {
        const target = this.#readers[operation.reader % this.#readers.length];
        return target === undefined ? undefined : this.#use(target, operation);
      }
      case 'read':
        return this.#read(operation.cursor % (this.#appended.length + 3), operation.maxBytes);
    }
  }

  check(): void {
    const retained = this.#retained();
    assert.deepEqual(
      retained,
      retained.map(({ seq }) => this.#appended[seq - 1]),
      'entries do not change',
    );
    const retainedBytes = bytesIn(retained);
    assert.deepEqual(
      [this.#log.nextSeq, this.#log.totalBytes, this.#log.retainedBytes, this.#log.droppedBytes],
      [this.#appended.length + 1, this.#totalBytes, retainedBytes, this.#totalBytes - retainedBytes],
    );
    assert.equal(this.#log.unreadBytes, Math.max(0, ...this.#readers.map(({ end }) => this.#totalBytes - end)));
    const seqs = new Set(retained.map(({ seq }) => seq));
    this.#checkBounds(seqs, retainedBytes);
    this.#checkHeads(seqs);
    for (const stream of streams) this.#checkSnapshot(stream);
  }

  #append(stream: Stream, length: number): void {
    const seq = this.#appended.length + 1;
    const bytes = Buffer.alloc(length, seq % 251);
    this.#appended.push({ kind: 'chunk', seq, offset: this.#totalBytes, stream, bytes });
    this.#log.append(stream, bytes);
    this.#expectNewest();
  }

  get #totalBytes(): number {
    const newest = this.#appended.at(-1);
    return newest === undefined ? 0 : newest.offset + lengthOf(newest);
  }

  #expectNewest(): void {
    const newest = this.#appended.at(-1);
    assert.ok(newest);
    for (const { due } of this.#readers) due.push(newest);
  }

  #open(cursor: number, settlement: Settlement): void {
    const from = Math.min(cursor, this.#appended.length);
    const due = this.#retained().filter(({ seq }) => seq > from);
    this.#readers.push({
      reader: this.#log.openReader(cursor, settlement),
      settlement,
      due,
      taken: 0,
      end: this.#holeStart(from),
    });
  }

  #use(target: ModelReader, operation: Extract<Operation, { reader: number }>): void {
    switch (operation.kind) {
      case 'take':
        for (let at = 0; at < operation.count; at += 1) takeOne(target);
        return;
      case 'acknowledge':
      case 'rewind': {
        const seq = operation.seq % (this.#appended.length + 3);
        target.reader[operation.kind](seq);
        const arrived = target.due.slice(0, target.taken).filter((entry) => entry.seq <= seq).length;
        if (operation.kind === 'rewind') target.taken = arrived;
        else settle(target, arrived);
        return;
      }
      case 'close':
        target.reader.close();
        this.#readers = this.#readers.filter((each) => each !== target);
    }
  }

  #read(cursor: number, maxBytes: number): void {
    const after = this.#retained().filter(({ seq }) => seq > cursor);
    const isTooMuch = (entry: LogEntry, at: number) =>
      lengthOf(entry) > 0 && bytesIn(after.slice(0, at)) > 0 && bytesIn(after.slice(0, at + 1)) > maxBytes;
    const end = after.findIndex(isTooMuch);
    const entries = end < 0 ? after : after.slice(0, end);
    const isAtEnd = entries.length === after.length;
    const nextSeq = isAtEnd ? this.#appended.length + 1 : (entries.at(-1)?.seq ?? 0) + 1;
    const nextBytes = this.#endOf(nextSeq - 1);
    const pageFrom = (offset: number) => ({
      entries,
      nextSeq,
      fromBytes: offset,
      nextBytes,
      droppedBytes: nextBytes - offset - bytesIn(entries),
    });
    assert.deepEqual(this.#log.readAfter(cursor, maxBytes), pageFrom(this.#holeStart(cursor)));
    // A caller that passes its byte count learns exactly what it missed; a count that is too high or too low is clamped.
    const had = this.#endOf(cursor);
    assert.deepEqual(this.#log.readAfter(cursor, maxBytes, had), pageFrom(had));
    assert.deepEqual(this.#log.readAfter(cursor, maxBytes, 0), pageFrom(this.#holeStart(cursor)));
    assert.deepEqual(this.#log.readAfter(cursor, maxBytes, 2 ** 50), pageFrom(after[0]?.offset ?? this.#totalBytes));
  }

  /** Bytes up to and including this number, as they were written. */
  #endOf(seq: number): number {
    const entry = this.#appended[Math.min(seq, this.#appended.length) - 1];
    return entry === undefined ? 0 : entry.offset + lengthOf(entry);
  }

  /** Everything that the log still has, read page by page. */
  #retained(): LogEntry[] {
    const retained: LogEntry[] = [];
    for (let page = this.#log.readAfter(0, Infinity); page.entries.length > 0;) {
      retained.push(...page.entries);
      page = this.#log.readAfter(page.nextSeq - 1, Infinity);
    }
    return retained;
  }

  /** End of the last retained entry up to the cursor: a hole may begin there. */
  #holeStart(cursor: number): number {
    const before = this.#retained().findLast(({ seq }) => seq <= cursor);
    return before === undefined ? 0 : before.offset + lengthOf(before);
  }

  #checkBounds(retained: ReadonlySet<number>, retainedBytes: number): void {
    const chunks = this.#appended.filter(({ kind }) => kind === 'chunk');
    const newest = chunks.at(-1);
    assert.ok(newest === undefined || retained.has(newest.seq), 'the newest chunk is retained');
    if (this.#readers.length === 0) {
      const entries = chunks.filter(({ seq }) => retained.has(seq)).length;
      assert.ok(retainedBytes <= this.#bounds.retainedBytes, `${retainedBytes} bytes are within the bound`);
      assert.ok(entries <= this.#bounds.retainedEntries, `${entries} chunks are within the bound`);
    }
    const dropped = chunks.findLast(({ seq }) => !retained.has(seq));
    const wouldFit =
      dropped !== undefined &&
      retainedBytes + lengthOf(dropped) <= this.#bounds.retainedBytes &&
      retained.size + 1 <= this.#bounds.retainedEntries;
    assert.equal(wouldFit, false, 'nothing is dropped that would fit');
  }

  /** The first bytes of each stream are never evicted, as long as such entries take less than a quarter of the space. */
  #checkHeads(retained: ReadonlySet<number>): void {
    const { headBytes, retainedBytes, retainedEntries } = this.#bounds;
    const streamBytes = { stdout: 0, stderr: 0, pty: 0 };
    let kept = 0;
    for (const entry of this.#appended) {
      const begin = entry.kind === 'chunk' ? streamBytes[entry.stream] : 0;
      const isKept = entry.kind !== 'chunk' || (begin < Math.min(headBytes, retainedBytes / 4) && kept < retainedEntries / 4);
      if (entry.kind === 'chunk') streamBytes[entry.stream] += entry.bytes.length;
      if (!isKept) continue;
      kept += 1;
      assert.ok(retained.has(entry.seq), `entry ${entry.seq} is never evicted`);
    }
  }

  #checkSnapshot(stream: Stream): void {
    const whole = Buffer.concat(this.#chunksOf(stream).map((entry) => (entry.kind === 'chunk' ? entry.bytes : new Uint8Array())));
    const snapshot = this.#log.retained(stream);
    if (whole.length === 0) return assert.equal(snapshot, undefined);
    assert.ok(snapshot);
    const { head, tail, droppedBytes, truncated } = snapshot;
    assert.deepEqual(
      [head, tail, truncated, head.length + droppedBytes + tail.length],
      [whole.subarray(0, head.length), whole.subarray(whole.length - tail.length), droppedBytes > 0, whole.length],
    );
  }

  #chunksOf(stream: Stream): LogEntry[] {
    return this.#appended.filter((entry) => entry.kind === 'chunk' && entry.stream === stream);
  }
}

function takeOne(target: ModelReader): void {
  const { reader, due, taken, settlement } = target;
  const before = due[taken - 1];
  const entry = due[taken];
  const end = before === undefined ? target.end : before.offset + lengthOf(before);
  assert.deepEqual(reader.take(), entry && { entry, droppedBytes: entry.offset - end }, 'a reader misses nothing');
  if (entry === undefined) return;
  target.taken += 1;
  if (settlement === 'taken') settle(target, 1);
}

function settle(target: ModelReader, count: number): void {
  const last = target.due.splice(0, count).at(-1);
  if (last === undefined) return;
  target.taken -= count;
  target.end = last.offset + lengthOf(last);
}

function lengthOf(entry: LogEntry): number {
  return entry.kind === 'chunk' ? entry.bytes.length : 0;
}

function bytesIn(entries: readonly LogEntry[]): number {
  return entries.reduce((total, each) => total + lengthOf(each), 0);
}
