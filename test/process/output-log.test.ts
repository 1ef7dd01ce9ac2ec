// Reading the log by cursor: numbering, pages, what is retained, and how holes are reported.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LogEntry } from '#src/process/output/log-entries.js';
import { type LogPage, OutputLog, type Retention } from '#src/process/output/output-log.js';
import type { Ending, Stream } from '#src/protocol/index.js';
import { FakeClock } from '../support/fake-clock.js';

const roomy: Retention = { retainedBytes: 1_000, retainedEntries: 100, headBytes: 10 };

const ending: Ending = {
  kind: 'code',
  code: 0,
  reason: 'exited',
  outputComplete: true,
  droppedBytes: 0,
  startedAt: 1,
  endedAt: 2,
};

/** A log with these pieces on stdout, or on another stream when written as 'stderr:text'. */
function logWith(retention: Retention, ...pieces: string[]): OutputLog {
  const log = new OutputLog(retention);
  for (const piece of pieces) write(log, piece);
  return log;
}

function write(log: OutputLog, piece: string): void {
  const [, stream = 'stdout', text = ''] = /^(?:(stderr|pty):)?(.*)$/s.exec(piece) ?? [];
  log.append(stream as Stream, Buffer.from(text));
}

/** A page in short form: '3 stdout@7 text'. */
function brief({ entries, nextSeq, droppedBytes }: LogPage) {
  const lines = entries.map((entry) =>
    entry.kind === 'chunk'
      ? `${entry.seq} ${entry.stream}@${entry.offset} ${Buffer.from(entry.bytes).toString()}`
      : `${entry.seq} ${entry.kind}@${entry.offset}`,
  );
  return { lines, nextSeq, droppedBytes };
}

describe('a page', () => {
  const log = logWith(roomy, 'one', 'stderr:two', 'three');

  test('has the chunks of all streams in one sequence, numbered from 1', () => {
    assert.deepEqual(brief(log.readAfter(0, Infinity)), {
      lines: ['1 stdout@0 one', '2 stderr@3 two', '3 stdout@6 three'],
      nextSeq: 4,
      droppedBytes: 0,
    });
  });

  test('begins after the cursor', () => {
    assert.deepEqual(brief(log.readAfter(2, Infinity)), { lines: ['3 stdout@6 three'], nextSeq: 4, droppedBytes: 0 });
  });

  test('is empty at the end and keeps the cursor there', () => {
    assert.deepEqual(brief(log.readAfter(3, Infinity)), { lines: [], nextSeq: 4, droppedBytes: 0 });
  });

  test('moves a cursor past the end back to the actual end', () => {
    assert.deepEqual(brief(log.readAfter(99, Infinity)), { lines: [], nextSeq: 4, droppedBytes: 0 });
  });

  test('has whole chunks as long as they fit', () => {
    assert.deepEqual(brief(log.readAfter(0, 10)), { lines: ['1 stdout@0 one', '2 stderr@3 two'], nextSeq: 3, droppedBytes: 0 });
    assert.deepEqual(brief(log.readAfter(0, 11)).nextSeq, 4);
  });

  test('has at least one chunk, however low the limit', () => {
    assert.deepEqual(brief(log.readAfter(0, 0)), { lines: ['1 stdout@0 one'], nextSeq: 2, droppedBytes: 0 });
  });

  test('has the events that follow its last chunk, although the limit is already reached', () => {
    const ended = logWith(roomy, 'one', 'two');
    ended.appendExited(ending);
    ended.appendClosed([]);
    assert.deepEqual(
      [0, 1].map((cursor) => brief(ended.readAfter(cursor, 1))),
      [
        { lines: ['1 stdout@0 one'], nextSeq: 2, droppedBytes: 0 },
        { lines: ['2 stdout@3 two', '3 exited@6', '4 closed@6'], nextSeq: 5, droppedBytes: 0 },
      ],
    );
  });

  test('has a chunk besides the exit, however low the limit', () => {
    const ended = logWith(roomy);
    ended.appendExited(ending);
    write(ended, 'late');
    assert.deepEqual(brief(ended.readAfter(0, 1)), { lines: ['1 exited@0', '2 stdout@0 late'], nextSeq: 3, droppedBytes: 0 });
  });

  test('has the exit and the close in sequence', () => {
    const ended = logWith(roomy, 'out');
    ended.appendExited(ending);
    write(ended, 'late');
    ended.appendClosed([7]);
    assert.deepEqual(brief(ended.readAfter(0, Infinity)), {
      lines: ['1 stdout@0 out', '2 exited@3', '3 stdout@3 late', '4 closed@7'],
      nextSeq: 5,
      droppedBytes: 0,
    });
  });
});

describe('retention', () => {
  test('nothing is dropped at exactly the bounds', () => {
    const log = logWith({ retainedBytes: 6, retainedEntries: 3, headBytes: 0 }, 'aa', 'bb', 'cc');
    assert.deepEqual([log.totalBytes, log.retainedBytes, log.droppedBytes], [6, 6, 0]);
  });

  test('one byte too many drops the oldest chunk', () => {
    const log = logWith({ retainedBytes: 6, retainedEntries: 10, headBytes: 0 }, 'aa', 'bb', 'cc', 'd');
    assert.deepEqual(brief(log.readAfter(0, Infinity)), {
      lines: ['2 stdout@2 bb', '3 stdout@4 cc', '4 stdout@6 d'],
      nextSeq: 5,
      droppedBytes: 2,
    });
  });

  test('one entry too many drops the oldest chunk', () => {
    const log = logWith({ retainedBytes: 100, retainedEntries: 2, headBytes: 0 }, 'a', 'b', 'c');
    assert.deepEqual(brief(log.readAfter(0, Infinity)), { lines: ['2 stdout@1 b', '3 stdout@2 c'], nextSeq: 4, droppedBytes: 1 });
  });

  test('the exit drops nothing, since the ending already states how much is missing', () => {
    const log = logWith({ retainedBytes: 100, retainedEntries: 2, headBytes: 0 }, 'a', 'b');
    log.appendExited(ending);
    assert.deepEqual(brief(log.readAfter(0, Infinity)), {
      lines: ['1 stdout@0 a', '2 stdout@1 b', '3 exited@2'],
      nextSeq: 4,
      droppedBytes: 0,
    });
  });

  test('the exit stays when output after it is dropped', () => {
    const log = logWith({ retainedBytes: 2, retainedEntries: 10, headBytes: 0 }, 'a');
    log.appendExited(ending);
    for (const text of ['b', 'c', 'd']) write(log, text);
    assert.deepEqual(
      [0, 2].map((cursor) => brief(log.readAfter(cursor, Infinity))),
      [
        { lines: ['2 exited@1', '4 stdout@2 c', '5 stdout@3 d'], nextSeq: 6, droppedBytes: 2 },
        { lines: ['4 stdout@2 c', '5 stdout@3 d'], nextSeq: 6, droppedBytes: 1 },
      ],
    );
  });

  test('the beginning of each stream is never evicted', () => {
    const retention = { retainedBytes: 12, retainedEntries: 100, headBytes: 2 };
    const log = logWith(retention, 'a1', 'x1', 'x2', 'x3', 'stderr:b1', 'x4', 'x5', 'x6', 'x7');
    assert.deepEqual(
      [0, 1, 5].map((cursor) => brief(log.readAfter(cursor, Infinity))),
      [
        {
          lines: ['1 stdout@0 a1', '5 stderr@8 b1', '6 stdout@10 x4', '7 stdout@12 x5', '8 stdout@14 x6', '9 stdout@16 x7'],
          nextSeq: 10,
          droppedBytes: 6,
        },
        {
          lines: ['5 stderr@8 b1', '6 stdout@10 x4', '7 stdout@12 x5', '8 stdout@14 x6', '9 stdout@16 x7'],
          nextSeq: 10,
          droppedBytes: 6,
        },
        { lines: ['6 stdout@10 x4', '7 stdout@12 x5', '8 stdout@14 x6', '9 stdout@16 x7'], nextSeq: 10, droppedBytes: 0 },
      ],
    );
  });

  test('a chunk that begins in the head is kept whole', () => {
    const log = logWith({ retainedBytes: 16, retainedEntries: 100, headBytes: 4 }, 'abc', 'defg', 'hijklmnop', 'q');
    assert.deepEqual(brief(log.readAfter(0, Infinity)), {
      lines: ['1 stdout@0 abc', '2 stdout@3 defg', '4 stdout@16 q'],
      nextSeq: 5,
      droppedBytes: 9,
    });
  });

  test('the beginning of a stream takes at most a quarter of the bytes', () => {
    const log = logWith({ retainedBytes: 8, retainedEntries: 100, headBytes: 100 }, 'ab', 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(brief(log.readAfter(1, Infinity)), {
      lines: ['3 stdout@4 ef', '4 stdout@6 gh', '5 stdout@8 ij'],
      nextSeq: 6,
      droppedBytes: 2,
    });
  });

  test('a page spans a hole and counts the missing bytes', () => {
    const log = logWith({ retainedBytes: 6, retainedEntries: 100, headBytes: 1 }, 'head', 'gone', 'lost', 'ab');
    assert.deepEqual(
      [0, 1].map((cursor) => brief(log.readAfter(cursor, Infinity))),
      [
        { lines: ['1 stdout@0 head', '4 stdout@12 ab'], nextSeq: 5, droppedBytes: 8 },
        { lines: ['4 stdout@12 ab'], nextSeq: 5, droppedBytes: 8 },
      ],
    );
  });

  test('a page that is full before a hole leaves the hole to the next one', () => {
    const log = logWith({ retainedBytes: 6, retainedEntries: 100, headBytes: 1 }, 'head', 'gone', 'lost', 'ab');
    assert.deepEqual(brief(log.readAfter(0, 4)), { lines: ['1 stdout@0 head'], nextSeq: 2, droppedBytes: 0 });
  });

  test('a page reaches the actual end and counts the missing bytes, although nothing is retained after the hole', () => {
    const log = logWith({ retainedBytes: 4, retainedEntries: 100, headBytes: 1 }, 'head', 'gone', 'lost');
    assert.deepEqual(
      [0, 1, 2, 3].map((cursor) => brief(log.readAfter(cursor, Infinity))),
      [
        { lines: ['1 stdout@0 head'], nextSeq: 4, droppedBytes: 8 },
        { lines: [], nextSeq: 4, droppedBytes: 8 },
        { lines: [], nextSeq: 4, droppedBytes: 8 },
        { lines: [], nextSeq: 4, droppedBytes: 0 },
      ],
    );
  });

  test('beginnings in many small pieces take at most a quarter of the entries', () => {
    const pieces = Array.from({ length: 100 }, (_, at) => [`${at % 10}`, `stderr:${at % 10}`]).flat();
    const log = logWith({ retainedBytes: 1_000, retainedEntries: 20, headBytes: 500 }, ...pieces);
    const streams = (['stdout', 'stderr'] as const).map((stream) => log.retained(stream));
    assert.deepEqual(
      streams.map((stream) => [String(stream?.head), String(stream?.tail), stream?.droppedBytes]),
      [
        ['012', '3456789', 90],
        ['01', '23456789', 90],
      ],
    );
  });
});

describe('a snapshot', () => {
  const snapshot = (log: OutputLog, stream: Stream) => {
    const retained = log.retained(stream);
    return retained && { ...retained, head: String(retained.head), tail: String(retained.tail) };
  };

  test('has the whole stream when nothing was dropped', () => {
    const log = logWith({ ...roomy, headBytes: 3 }, 'abc', 'stderr:---', 'def');
    assert.deepEqual(snapshot(log, 'stdout'), { head: 'abc', tail: 'def', truncated: false, droppedBytes: 0 });
  });

  test('has the beginning and end of each stream, and counts the bytes missing between them', () => {
    const log = logWith(
      { retainedBytes: 12, retainedEntries: 100, headBytes: 3 },
      'abc',
      'stderr:xyz',
      'def',
      'stderr:uvw',
      'ghi',
      'jkl',
    );
    assert.deepEqual(
      (['stdout', 'stderr'] as const).map((stream) => snapshot(log, stream)),
      [
        { head: 'abc', tail: 'ghijkl', truncated: true, droppedBytes: 3 },
        { head: 'xyz', tail: '', truncated: true, droppedBytes: 3 },
      ],
    );
  });

  test('is undefined for a stream that never had a byte', () => {
    assert.equal(snapshot(logWith(roomy, 'out'), 'stderr'), undefined);
  });
});

test('evicted chunks can be garbage-collected immediately', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const log = new OutputLog(roomy);
  const chunks: WeakRef<Uint8Array>[] = [];
  for (let count = 0; count < 500; count += 1) {
    log.append('stdout', new Uint8Array(100));
    chunks.push(new WeakRef(lastBytes(log)));
  }
  await new Promise(setImmediate); // a WeakRef keeps its target for the rest of the turn
  collectGarbage();
  assert.equal(chunks.filter((chunk) => chunk.deref() !== undefined).length, log.retainedBytes / 100);
});

describe('the memory of a full chunk', () => {
  const chunkBytes = 64 * 1024;
  const eight: Retention = { retainedBytes: 8 * chunkBytes, retainedEntries: 100, headBytes: 0 };
  const appendTo = (log: OutputLog, value: number) => log.append('stdout', new Uint8Array(chunkBytes).fill(value));

  test('is reused once the chunk is evicted, even after it was borrowed', () => {
    const log = new OutputLog(eight);
    const reader = log.openReader(0);
    const memories = new Set<ArrayBufferLike>();
    for (let value = 0; value < 200; value += 1) {
      appendTo(log, value);
      memories.add(lastBytes(log).buffer);
      assert.deepEqual(bytesOf(reader.borrow()?.entry), Buffer.alloc(chunkBytes, value));
    }
    assert.ok(memories.size < 30, `${memories.size} for 8 chunks`);
  });

  test('is not reused after the chunk was taken or read in a page', () => {
    const log = new OutputLog(eight);
    const reader = log.openReader(0);
    const taken: Uint8Array[] = [];
    for (let value = 0; value < 50; value += 1) {
      appendTo(log, value);
      const inPage = log.readAfter(value, 1).entries[0];
      taken.push(bytesOf(value % 2 === 0 ? reader.take()?.entry : inPage));
      if (value % 2 === 1) reader.borrow();
    }
    for (const [value, bytes] of taken.entries()) assert.deepEqual(bytes, Buffer.alloc(chunkBytes, value));
  });

  test('is not reused after a take that evicts the chunk', () => {
    const log = new OutputLog({ ...eight, retainedBytes: 0 });
    const reader = log.openReader(0);
    appendTo(log, 1);
    const bytes = bytesOf(reader.take()?.entry);
    assert.equal(log.retainedBytes, 0);
    for (let value = 2; value < 40; value += 1) {
      appendTo(log, value);
      reader.borrow();
    }
    assert.deepEqual(bytes, Buffer.alloc(chunkBytes, 1));
  });
});

function bytesOf(entry: LogEntry | undefined): Uint8Array {
  return entry?.kind === 'chunk' ? entry.bytes : assert.fail('no chunk');
}

function lastBytes(log: OutputLog): Uint8Array {
  return bytesOf(log.after(log.nextSeq - 2));
}

describe('waiting for a change', () => {
  test('ends at the next append and leaves no timer', async () => {
    const clock = new FakeClock();
    const log = new OutputLog(roomy);
    const changed = log.changed({ clock, ms: 50 });
    write(log, 'x');
    await changed;
    assert.deepEqual(clock.pendingMs, []);
  });

  test('ends when the time is up, and not before', async () => {
    const clock = new FakeClock();
    let isDone = false;
    void new OutputLog(roomy).changed({ clock, ms: 50 }).then(() => (isDone = true));
    await clock.advance(49);
    assert.equal(isDone, false);
    await clock.advance(1);
    assert.equal(isDone, true);
  });

  test('ends for all waiters at once', async () => {
    const log = new OutputLog(roomy);
    const all = Promise.all([log.changed(), log.changed(), log.changed()]);
    log.appendClosed([]);
    assert.equal((await all).length, 3);
  });
});
