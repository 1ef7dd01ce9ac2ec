// Cursors on a log: for a reader everything waits until it is settled, for a viewer nothing does.

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

/** What was taken, as 'seq text', with the hole before it when there is one. */
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
  test('gives what was there and what comes, each once', () => {
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

  test('tells how much was gone before the reader came', () => {
    assert.deepEqual(takeAll(logWith('ab', 'cd', 'ef', 'gh').openReader(0)), ['3 ef after 4 dropped', '4 gh']);
  });

  test('misses nothing, however far behind the reader is', () => {
    const log = logWith();
    const reader = log.openReader(0);
    write(log, 'ab', 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(reader), ['1 ab', '2 cd', '3 ef', '4 gh', '5 ij']);
  });

  test('goes on at the true end when the cursor was past it', () => {
    const log = logWith('a');
    const reader = log.openReader(99);
    write(log, 'b');
    assert.deepEqual([log.unreadBytes, takeAll(reader), log.unreadBytes], [1, ['2 b'], 0]);
  });

  test('counts the entries and bytes that are behind it', () => {
    const reader = logWith('ab', 'cd').openReader(0);
    reader.take();
    assert.deepEqual(reader.settled, { seq: 1, offset: 2 });
  });
});

describe('what a reader holds', () => {
  test('is let go as it is taken', () => {
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

  test('is decided by the slowest reader', () => {
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

  test('is let go when the reader closes', () => {
    const log = logWith();
    const reader = log.openReader(0);
    write(log, 'ab', 'cd', 'ef');
    reader.close();
    assert.deepEqual([log.unreadBytes, log.retainedBytes], [0, 4]);
  });

  test('is announced whenever it becomes less', () => {
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

  test('holds what it has taken', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef', 'gh');
    takeAll(reader);
    assert.deepEqual(held(), [8, 8]);
  });

  test('lets go of everything up to the number it acknowledges', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef', 'gh');
    takeAll(reader);
    reader.acknowledge(3);
    assert.deepEqual([reader.settled, held()], [{ seq: 3, offset: 6 }, [2, 4]]);
  });

  test('cannot let go of what it has not taken', () => {
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

  test('changes nothing with a number from before', () => {
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

  test('acknowledges after a rewind only what it has taken again', () => {
    const { reader, held } = acknowledging('ab', 'cd', 'ef');
    takeAll(reader);
    reader.rewind(0);
    reader.acknowledge(3);
    assert.deepEqual(held(), [6, 6]);
  });
});

describe('a viewer', () => {
  test('holds nothing', () => {
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

  test('that does not keep up is told exactly how much it missed', () => {
    const log = logWith('ab');
    const viewer = log.openViewer(0);
    viewer.take();
    write(log, 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(viewer), ['4 gh after 4 dropped', '5 ij']);
  });

  test('that comes back and says how much it has had is told exactly how much it missed; without that, of the whole hole', () => {
    const log = logWith('ab', 'cd', 'ef', 'gh', 'ij');
    assert.deepEqual(takeAll(log.openViewer(2, 4)), ['4 gh after 2 dropped', '5 ij']);
    assert.deepEqual(takeAll(log.openViewer(2)), ['4 gh after 6 dropped', '5 ij']);
    assert.deepEqual([log.bytesUpTo(2, 4), log.bytesUpTo(2), log.bytesUpTo(4)], [4, 0, 8]);
  });

  test('that waits is woken by its close', async () => {
    const viewer = logWith().openViewer(0);
    const next = viewer.next();
    viewer.close();
    assert.equal(await next, undefined);
  });
});

describe('waiting', () => {
  test('gives the next entry when it comes', async () => {
    const log = logWith();
    const next = log.openReader(0).next();
    write(log, 'a');
    assert.equal(brief(await next), '1 a');
  });

  test('is not ended by what another reader does', async () => {
    const log = logWith('a');
    const other = log.openReader(0);
    const reader = log.openReader(1);
    let isOver = false;
    void reader.next().then(() => (isOver = true));
    other.take();
    other.close();
    await settle();
    assert.equal(isOver, false);
  });

  test('ends with nothing when the reader is closed', async () => {
    const reader = logWith().openReader(0);
    const next = reader.next();
    reader.close();
    assert.equal(await next, undefined);
  });

  test('a closed reader takes nothing, although there is something', async () => {
    const reader = logWith('a').openReader(0);
    reader.close();
    assert.deepEqual([reader.take(), await reader.next(), reader.isClosed], [undefined, undefined, true]);
  });
});
