// Cursors on a log: a reader keeps entries until they are settled, a viewer keeps nothing.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LogReader, Taken } from '#src/process/output/log-reader.js';
import { OutputLog } from '#src/process/output/output-log.js';
import { settle } from '../support/fake-clock.js';

const fourBytes = { retainedBytes: 4, retainedEntries: 100, headBytes: 0 };

function logWith(...texts: string[]): OutputLog {
  const log = new OutputLog(fourBytes);
  write(log, ...texts);
  return log;
}

function write(log: OutputLog, ...texts: string[]): void {
  for (const text of texts) log.append('stdout', Buffer.from(text));
}

/** What was taken as 'seq text', with the size of a hole before it. */
function brief(taken: Taken | undefined): string | undefined {
  if (taken?.entry.kind !== 'chunk') return taken?.entry.kind;
  const hole = taken.droppedBytes === 0 ? '' : ` after ${taken.droppedBytes} dropped`;
  return `${taken.entry.seq} ${Buffer.from(taken.entry.bytes).toString()}${hole}`;
}

function takeAll(reader: LogReader): string[] {
  const all: string[] = [];
  for (let taken = brief(reader.take()); taken !== undefined; taken = brief(reader.take())) all.push(taken);
  return all;
}

describe('taking', () => {
  test('returns existing and later entries, each once', () => {
    const log = logWith('a', 'b');
    const reader = log.openReader(0);
    const before = takeAll(reader);
    write(log, 'c');
    log.appendClosed([]);
    assert.deepEqual(
      [before, takeAll(reader)],
      [
        ['1 a', '2 b'],
        ['3 c', 'closed'],
      ],
    );
  });

  test('begins after the cursor', () => {
    assert.deepEqual(takeAll(logWith('a', 'b', 'c').openReader(2)), ['3 c']);
  });

  test('reports how much was evicted before the reader was opened', () => {
    assert.deepEqual(takeAll(logWith('ab', 'cd', 'ef', 'gh').openReader(0)), ['3 ef after 4 dropped', '4 gh']);
  });

  test('misses nothing, however far behind the reader is', () => {
    const log = logWith();
    const reader = log.openReader(0);
    write(log, 'ab', 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(reader), ['1 ab', '2 cd', '3 ef', '4 gh', '5 ij']);
  });

  test('continues at the actual end when the cursor was past it', () => {
    const log = logWith('a');
    const reader = log.openReader(99);
    write(log, 'b');
    assert.deepEqual([log.unreadBytes, takeAll(reader), log.unreadBytes], [1, ['2 b'], 0]);
  });

  test('advances the settled position by entries and bytes', () => {
    const reader = logWith('ab', 'cd').openReader(0);
    reader.take();
    assert.deepEqual(reader.settled, { seq: 1, offset: 2 });
  });
});

describe('what a reader keeps', () => {
  test('is released as it is taken', () => {
    const log = logWith();
    const reader = log.openReader(0);
    write(log, 'ab', 'cd', 'ef', 'gh');
    const retained = [log.retainedBytes];
    for (let at = 0; at < 3; at += 1) {
      reader.take();
      retained.push(log.retainedBytes);
    }
    assert.deepEqual(retained, [8, 6, 4, 4]);
  });

  test('is determined by the slowest reader', () => {
    const log = logWith();
    const slow = log.openReader(0);
    const quick = log.openReader(0);
    write(log, 'ab', 'cd', 'ef');
    takeAll(quick);
    const before = [log.unreadBytes, log.retainedBytes];
    slow.take();
    assert.deepEqual(
      [before, [log.unreadBytes, log.retainedBytes]],
      [
        [6, 6],
        [4, 4],
      ],
    );
  });

  test('is released when the reader closes', () => {
    const log = logWith();
    const reader = log.openReader(0);
    write(log, 'ab', 'cd', 'ef');
    reader.close();
    assert.deepEqual([log.unreadBytes, log.retainedBytes], [0, 4]);
  });

  test('is announced whenever it shrinks', () => {
    const log = logWith('a', 'b');
    const reader = log.openReader(0);
    const unread: number[] = [];
    log.onRead(() => unread.push(log.unreadBytes));
    reader.take();
    reader.take();
    reader.take();
    reader.close();
    reader.close();
    assert.deepEqual(unread, [1, 0, 0]);
  });
});

describe('a reader that acknowledges', () => {
  function acknowledging(...texts: string[]) {
    const log = logWith();
    const reader = log.openReader(0, 'acknowledged');
    write(log, ...texts);
    return { log, reader, held: () => [log.unreadBytes, log.retainedBytes] };
  }

  test('keeps what it has taken', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef', 'gh');
    takeAll(reader);
    assert.deepEqual(held(), [8, 8]);
  });

  test('releases everything up to the number it acknowledges', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef', 'gh');
    takeAll(reader);
    reader.acknowledge(3);
    assert.deepEqual([reader.settled, held()], [{ seq: 3, offset: 6 }, [2, 4]]);
  });

  test('cannot release what it has not taken', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef');
    reader.take();
    reader.acknowledge(99);
    assert.deepEqual(
      [held(), takeAll(reader)],
      [
        [4, 4],
        ['2 cd', '3 ef'],
      ],
    );
  });

  test('changes nothing by acknowledging an earlier number', () => {
    const { log, reader, held } = acknowledging('ab', 'cd', 'ef');
    takeAll(reader);
    reader.acknowledge(2);
    let moves = 0;
    log.onRead(() => (moves += 1));
    reader.acknowledge(2);
    reader.acknowledge(1);
    assert.deepEqual([held(), moves], [[2, 4], 0]);
  });

  test('takes again what did not arrive, and keeps what arrived until it is acknowledged', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef', 'gh', 'ij');
    takeAll(reader);
    reader.rewind(2);
    assert.deepEqual(
      [held(), takeAll(reader)],
      [
        [10, 10],
        ['3 ef', '4 gh', '5 ij'],
      ],
    );
  });

  test('acknowledges only what it has taken again after a rewind', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef');
    takeAll(reader);
    reader.rewind(0);
    reader.acknowledge(3);
    assert.deepEqual(held(), [6, 6]);
  });
});

describe('a viewer', () => {
  test('keeps nothing', () => {
    const log = logWith();
    log.openViewer(0);
    write(log, 'ab', 'cd', 'ef');
    assert.deepEqual([log.unreadBytes, log.retainedBytes], [0, 4]);
  });

  test('that keeps up sees everything', () => {
    const log = logWith();
    const viewer = log.openViewer(0);
    const seen = ['ab', 'cd', 'ef', 'gh'].flatMap((text) => {
      write(log, text);
      return takeAll(viewer);
    });
    assert.deepEqual(seen, ['1 ab', '2 cd', '3 ef', '4 gh']);
  });

  test('that does not keep up learns exactly how much it missed', () => {
    const log = logWith('ab');
    const viewer = log.openViewer(0);
    viewer.take();
    write(log, 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(viewer), ['4 gh after 4 dropped', '5 ij']);
  });

  test('that reopens with its byte count learns exactly how much it missed; without one, the whole hole counts', () => {
    const log = logWith('ab', 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(log.openViewer(2, 4)), ['4 gh after 2 dropped', '5 ij']);
    assert.deepEqual(takeAll(log.openViewer(2)), ['4 gh after 6 dropped', '5 ij']);
    assert.deepEqual([log.bytesUpTo(2, 4), log.bytesUpTo(2), log.bytesUpTo(4)], [4, 0, 8]);
  });

  test('that waits is woken when it closes', async () => {
    const viewer = logWith().openViewer(0);
    const next = viewer.next();
    viewer.close();
    assert.equal(await next, undefined);
  });
});

describe('waiting', () => {
  test('returns the next entry when it is appended', async () => {
    const log = logWith();
    const next = log.openReader(0).next();
    write(log, 'a');
    assert.equal(brief(await next), '1 a');
  });

  test('is not ended by another reader', async () => {
    const log = logWith('a');
    const other = log.openReader(0);
    const reader = log.openReader(1);
    let isDone = false;
    void reader.next().then(() => (isDone = true));
    other.take();
    other.close();
    await settle();
    assert.equal(isDone, false);
  });

  test('ends with undefined when the reader is closed', async () => {
    const reader = logWith().openReader(0);
    const next = reader.next();
    reader.close();
    assert.equal(await next, undefined);
  });

  test('of a closed reader returns nothing, although there is an entry', async () => {
    const reader = logWith('a').openReader(0);
    reader.close();
    assert.deepEqual([reader.take(), await reader.next(), reader.isClosed], [undefined, undefined, true]);
  });
});
