// The yield window: what ends it, what it returns, and that the next read continues where it stopped.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Clock } from '#src/base/clock.js';
import { type CollectOptions, type Collected, collectUntil } from '#src/client/collect-until.js';
import { OutputQueue } from '#src/client/output-queue.js';
import { FakeClock } from '../support/fake-clock.js';
import { FakeEventSource } from '../support/fake-event-source.js';

function open(clock: Clock = new FakeClock()) {
  const source = new FakeEventSource();
  const queue = new OutputQueue(source);
  const collect = (options: Partial<CollectOptions> = {}) => collectUntil(queue, { deadlineMs: 1_000, ...options }, clock);
  return { source, queue, collect };
}

/** Watches a collection: `end` is absent while it continues, then '<ms> <reason> <text>'. */
function watch(clock: FakeClock, collecting: Promise<Collected>) {
  const watched: { end?: string } = {};
  void collecting.then(({ reason, text }) => (watched.end = `${clock.now()} ${reason} ${text}`));
  return watched;
}

describe('a window ends', () => {
  test('at the deadline when there is no output', async () => {
    const clock = new FakeClock();
    const watched = watch(clock, open(clock).collect());
    await clock.advance(999);
    assert.deepEqual(watched, {});
    await clock.advance(1);
    assert.deepEqual(watched, { end: '1000 deadline ' });
  });

  test('at the deadline with the output so far', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    const watched = watch(clock, collect());
    for (const text of ['one ', 'two ', 'three']) {
      source.output('stdout', text);
      await clock.advance(300);
    }
    await clock.advance(1_000);
    assert.deepEqual(watched, { end: '1000 deadline one two three' });
  });

  test('at the deadline although the process never stops writing', async () => {
    let now = 0;
    const { source, collect } = open({
      now: () => now,
      elapsed: () => now,
      after: () => ({ cancel() {} }),
      afterIdle: () => ({ cancel() {} }),
    });
    const endless = source.next.bind(source);
    source.next = () => {
      now += 100;
      source.output('stdout', '.');
      return endless();
    };
    const { reason, text } = await collect();
    assert.deepEqual([reason, text], ['deadline', '.'.repeat(11)]);
  });

  test('with all available output when the deadline is 0', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    for (const text of ['a', 'b', 'c']) source.output('stdout', text);
    const watched = watch(clock, collect({ deadlineMs: 0 }));
    await clock.advance(0);
    assert.deepEqual(watched, { end: '0 deadline abc' });
  });

  test('after a silence, measured from the last output', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    const watched = watch(clock, collect({ quietMs: 50 }));
    source.output('stdout', 'a');
    await clock.advance(40);
    source.output('stdout', 'b');
    await clock.advance(49);
    assert.deepEqual(watched, {});
    await clock.advance(1);
    assert.deepEqual(watched, { end: '90 quiet ab' });
  });

  test('not after a silence before the first output', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    const watched = watch(clock, collect({ quietMs: 50 }));
    await clock.advance(300);
    source.output('stdout', 'first');
    await clock.advance(50);
    assert.deepEqual(watched, { end: '350 quiet first' });
  });

  test('at the deadline when the silence would end later', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    const watched = watch(clock, collect({ deadlineMs: 60, quietMs: 50 }));
    await clock.advance(30);
    source.output('stdout', 'x');
    await clock.advance(100);
    assert.deepEqual(watched, { end: '60 deadline x' });
  });

  test('at the exit, the next at the close, and later ones at once', async () => {
    const { source, collect } = open();
    source.output('stdout', 'a');
    source.exited();
    source.output('stdout', 'b');
    source.closed();
    const ends = [];
    for (let count = 0; count < 3; count += 1) ends.push(await collect());
    assert.deepEqual(
      ends.map(({ reason, text }) => [reason, text]),
      [
        ['exited', 'a'],
        ['closed', 'b'],
        ['closed', ''],
      ],
    );
  });

  test('and leaves no timer behind', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    source.exited();
    await collect({ quietMs: 10 });
    assert.deepEqual(clock.pendingMs, []);
  });
});

describe('a text ends the window', () => {
  const found = ({ reason, match }: Collected) => [reason, match];

  test('with the whole chunk that completes it', async () => {
    const { source, collect } = open();
    source.output('stdout', 'not yet, ');
    source.output('stdout', 'rea');
    source.output('stdout', 'dy> more');
    source.output('stdout', 'next');
    const { chunks: _, ...rest } = await collect({ text: 'ready>' });
    assert.deepEqual(rest, { text: 'not yet, ready> more', droppedBytes: 0, reason: 'text', match: 'ready>' });
  });

  test('when one of its characters is split over two chunks', async () => {
    const { source, collect } = open();
    const bytes = new TextEncoder().encode('→ ok');
    source.output('stdout', bytes.slice(0, 2));
    source.output('stdout', bytes.slice(2));
    assert.deepEqual(found(await collect({ text: '→ ok' })), ['text', '→ ok']);
  });

  test('only when one stream contains all of it', async () => {
    const { source, collect } = open();
    source.output('stdout', 'rea');
    source.output('stderr', 'dy');
    source.exited();
    assert.deepEqual(found(await collect({ text: 'ready' })), ['exited', undefined]);
  });

  test('although the other stream writes in between', async () => {
    const { source, collect } = open();
    source.output('stdout', 'rea');
    source.output('stderr', '!');
    source.output('stdout', 'dy');
    assert.deepEqual(found(await collect({ text: 'ready' })), ['text', 'ready']);
  });

  test('when it matches a pattern, whatever its flags and lastIndex', async () => {
    for (const pattern of [/port (\d+)/, /port (\d+)/g, /port (\d+)/y, /PORT (\d+)/gi]) {
      const { source, collect } = open();
      pattern.lastIndex = 5;
      source.output('stdout', 'listening on port 80');
      assert.deepEqual([...found(await collect({ text: pattern })), pattern.lastIndex], ['text', 'port 80', 5]);
    }
  });

  test('even if it is in output that is dropped', async () => {
    const { source, collect } = open();
    source.output('stdout', `ready${'.'.repeat(100)}`);
    assert.deepEqual(found(await collect({ text: 'ready', maxBytes: 10 })), ['text', 'ready']);
  });

  test('even if it is longer than the output that is kept', async () => {
    const { source, collect } = open();
    source.output('stdout', 'long ');
    source.output('stdout', 'text');
    assert.deepEqual(found(await collect({ text: 'long text', maxBytes: 4 })), ['text', 'long text']);
  });
});

describe('too much output', () => {
  /** What a window keeps of these chunks, as texts. */
  async function kept(maxBytes: number, ...texts: string[]) {
    const { source, collect } = open();
    for (const text of texts) source.output('stdout', text);
    source.exited();
    const { chunks, text, droppedBytes } = await collect({ maxBytes });
    return { chunks: chunks.map(({ bytes }) => Buffer.from(bytes).toString()), text, droppedBytes };
  }

  test('keeps the end and counts the rest', async () => {
    assert.deepEqual(await kept(6, 'aaa', 'bbb', 'ccc', 'ddd'), { chunks: ['ccc', 'ddd'], text: 'cccddd', droppedBytes: 6 });
  });

  test('drops nothing at exactly the limit', async () => {
    assert.deepEqual(await kept(6, 'aaa', 'bbb'), { chunks: ['aaa', 'bbb'], text: 'aaabbb', droppedBytes: 0 });
  });

  test('keeps the end of a chunk that exceeds the limit alone', async () => {
    assert.deepEqual(await kept(4, 'abcdefgh', 'ij'), { chunks: ['gh', 'ij'], text: 'ghij', droppedBytes: 6 });
  });

  test('keeps nothing when the limit is 0', async () => {
    assert.deepEqual(await kept(0, 'abc', 'def'), { chunks: [], text: '', droppedBytes: 6 });
  });

  test('is limited in bytes, not in characters', async () => {
    assert.deepEqual(await kept(4, 'ééé'), { chunks: ['éé'], text: 'éé', droppedBytes: 2 });
  });

  test('still counts for the silence when nothing is kept', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    source.output('stdout', 'abc');
    const watched = watch(clock, collect({ quietMs: 50, maxBytes: 0 }));
    await clock.advance(50);
    assert.deepEqual(watched, { end: '50 quiet ' });
  });

  test('includes bytes that were already missing on arrival', async () => {
    const { source, collect } = open();
    source.output('stdout', 'abc', 10);
    source.output('stderr', 'def', 5);
    source.exited();
    assert.equal((await collect()).droppedBytes, 15);
  });
});

describe('the next read', () => {
  test('has the output that arrives after a window ended at its deadline', async () => {
    const clock = new FakeClock();
    const { source, collect } = open(clock);
    const first = collect({ deadlineMs: 10 });
    await clock.advance(10);
    source.output('stdout', 'late');
    source.exited();
    const [one, other] = [await first, await collect()];
    assert.deepEqual([one.text, one.reason, other.text, other.reason], ['', 'deadline', 'late', 'exited']);
  });

  test('continues after the chunk that contained the text', async () => {
    const { source, queue, collect } = open();
    source.output('stdout', 'ready');
    source.output('stdout', 'after');
    await collect({ text: 'ready' });
    const next = await queue.next();
    assert.equal(Buffer.from(next?.bytes ?? []).toString(), 'after');
  });
});

test('each stream of the text is decoded separately, and an incomplete character is left out', async () => {
  const { source, collect } = open();
  const euro = new TextEncoder().encode('€');
  source.output('stdout', euro.slice(0, 1));
  source.output('stderr', 'x');
  source.output('stdout', euro.slice(1));
  source.output('stderr', euro.slice(0, 2));
  source.exited();
  assert.equal((await collect()).text, 'x€');
});
