// The cursor of a handle: all readers share it, and no event is delivered twice or lost.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OutputChunk, OutputQueue } from '#src/client/output-queue.js';
import { FakeClock } from '../support/fake-clock.js';
import { FakeEventSource } from '../support/fake-event-source.js';

function open() {
  const source = new FakeEventSource();
  return { source, queue: new OutputQueue(source) };
}

/** A short form of a chunk: 'seq stream text'. */
function brief(chunk: OutputChunk | string | undefined): string | undefined {
  return typeof chunk === 'object' ? `${chunk.seq} ${chunk.stream} ${Buffer.from(chunk.bytes).toString()}` : chunk;
}

describe('taking', () => {
  test('returns chunks, the exit and the close in order', async () => {
    const { source, queue } = open();
    source.output('stdout', 'a');
    source.exited();
    source.output('stderr', 'b');
    source.closed();
    const taken = [];
    for (let count = 0; count < 5; count += 1) taken.push(brief(await queue.take()));
    assert.deepEqual(taken, ['1 stdout a', 'exited', '3 stderr b', 'closed', 'closed']);
  });

  test('only output skips the exit', async () => {
    const { source, queue } = open();
    source.exited();
    source.output('pty', 'late');
    source.closed();
    assert.deepEqual([brief(await queue.next()), await queue.next(), await queue.next()], ['2 pty late', undefined, undefined]);
  });

  test('returns a chunk as it arrived, with droppedBytes 0 if nothing is missing before it', async () => {
    const { source, queue } = open();
    source.output('stdout', 'a', 7);
    source.output('stdout', 'b');
    assert.deepEqual(
      [await queue.take(), await queue.take()],
      [
        { seq: 1, stream: 'stdout', bytes: Uint8Array.of(0x61), droppedBytes: 7 },
        { seq: 2, stream: 'stdout', bytes: Uint8Array.of(0x62), droppedBytes: 0 },
      ],
    );
  });

  test('by two concurrent readers gives each chunk to one of them', async () => {
    const { source, queue } = open();
    const taken = Promise.all([queue.take(), queue.take()]);
    source.output('stdout', 'a');
    source.output('stdout', 'b');
    assert.deepEqual((await taken).map(brief), ['1 stdout a', '2 stdout b']);
  });

  test('closes the source after the last event', async () => {
    const { source, queue } = open();
    source.closed();
    await queue.take();
    assert.equal(source.isClosed, true);
  });

  test('ends for waiting readers when the queue is closed', async () => {
    const { queue } = open();
    const taken = queue.take();
    queue.close();
    assert.deepEqual([await taken, await queue.take()], ['closed', 'closed']);
  });
});

describe('waiting without taking', () => {
  test('leaves the event in the queue', async () => {
    const { source, queue } = open();
    source.output('stdout', 'a');
    const isReady = await queue.ready(new FakeClock(), 10);
    assert.deepEqual([isReady, brief(await queue.take())], [true, '1 stdout a']);
  });

  test('ends when the time is up, and leaves a later event to the next reader', async () => {
    const clock = new FakeClock();
    const { source, queue } = open();
    const ready = queue.ready(clock, 10);
    await clock.advance(10);
    source.output('stdout', 'late');
    assert.deepEqual([await ready, brief(await queue.take())], [false, '1 stdout late']);
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    const { source, queue } = open();
    const ready = queue.ready(clock, 10);
    source.exited();
    assert.deepEqual([await ready, clock.pendingMs], [true, []]);
  });

  test('ends at once when the queue is closed', async () => {
    const { queue } = open();
    queue.close();
    assert.equal(await queue.ready(new FakeClock(), 10), true);
  });
});
