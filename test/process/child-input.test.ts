// The two kinds of stdin: pipes, which wait by themselves, and terminals, which are tried again.

import assert from 'node:assert/strict';
import { closeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { PipeInput, PtyInput } from '#src/process/child-input.js';
import { eventually } from '../support/eventually.js';
import { FakeClock, settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { noTerminal, openTerminal, readNow } from '../support/terminal.js';

/** Remembers how each write was answered: 'taken', or the error's text. */
function answers() {
  const told: string[] = [];
  return { told, tell: (error: Error | undefined) => void told.push(error?.message ?? 'taken') };
}

describe('a pipe', () => {
  /** A pipe that takes a write when the test says so. */
  function open() {
    const written: string[] = [];
    let taken: (error?: Error) => void = () => {};
    const pipe = new Writable({
      decodeStrings: false,
      write(chunk: Buffer, _encoding, callback) {
        written.push(chunk.toString());
        taken = callback;
      },
    });
    return { input: new PipeInput(pipe), pipe, written, take: (error?: Error) => taken(error) };
  }

  test('answers a write when the kernel has taken it, not before', async () => {
    const { input, take } = open();
    const { told, tell } = answers();
    input.write(Buffer.from('x'), tell);
    await settle();
    assert.deepEqual(told, []);
    take();
    await settle();
    assert.deepEqual(told, ['taken']);
  });

  test('answers with the error when the child has closed its end, and is destroyed', async () => {
    const { input, pipe, take } = open();
    const { told, tell } = answers();
    input.write(Buffer.from('x'), tell);
    take(new Error('EPIPE'));
    await settle();
    assert.deepEqual([told, pipe.destroyed], [['EPIPE'], true]);
  });

  test('ends after what was written', async () => {
    const { input, pipe, written, take } = open();
    input.write(Buffer.from('x'), () => {});
    input.end();
    const isEndedBefore = pipe.writableFinished;
    take();
    await settle();
    assert.deepEqual([written, isEndedBefore, pipe.writableFinished], [['x'], false, true]);
  });
});

describe('a terminal', { skip: noTerminal }, () => {
  guardAgainstLeaks();

  /** A terminal whose reader is the test. */
  function open() {
    const clock = new FakeClock();
    const terminal = openTerminal();
    const slave = terminal.openSlave();
    const input = new PtyInput(terminal.master, clock);
    return {
      clock,
      input,
      read: () => readNow(slave),
      [Symbol.dispose]() {
        input.destroy();
        closeSync(slave);
        closeSync(terminal.master);
      },
    };
  }

  /** More whole lines than a terminal takes before somebody reads them. */
  const flood = 'a line of text\n'.repeat(5_000);

  /** What the reader gets, read by read, and nothing after that. */
  async function reads(read: () => string, ...expected: string[]): Promise<void> {
    const got: string[] = [];
    await eventually(() => {
      for (let piece = read(); piece !== ''; piece = read()) got.push(piece);
      assert.deepEqual(got, expected);
    });
  }

  /** Reads until the write is answered and nothing is left, and lets the writer go on in between. */
  async function readAll(read: () => string, told: readonly string[], goOn: () => void | Promise<void>): Promise<string> {
    let all = '';
    await eventually(async () => {
      for (let piece = read(); piece !== ''; piece = read()) all += piece;
      await goOn();
      assert.deepEqual([told, all.length], [['taken'], flood.length]);
    });
    return all;
  }

  test('passes on what is written and answers at once when there is room', async () => {
    using terminal = open();
    const { told, tell } = answers();
    terminal.input.write(Buffer.from('hello\n'), tell);
    assert.deepEqual(told, ['taken']);
    await reads(terminal.read, 'hello\n');
  });

  test('tries again in time when it is full, and then has lost nothing', async () => {
    using terminal = open();
    const { told, tell } = answers();
    terminal.input.write(Buffer.from(flood), tell);
    assert.deepEqual([told, terminal.clock.pendingMs], [[], [1]]);
    const all = await readAll(terminal.read, told, () => terminal.clock.advance(100));
    assert.deepEqual([all === flood, terminal.clock.pendingMs], [true, []]);
  });

  test('waits longer and longer while nobody reads, up to a tenth of a second', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from(flood), () => {});
    // The kernel moves what it has taken further in, in its own time, until it is full for good.
    await eventually(async () => {
      await terminal.clock.advance(terminal.clock.pendingMs[0] ?? 0);
      assert.deepEqual(terminal.clock.pendingMs, [100]);
    });
    terminal.input.poke();
    const waits: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      const [ms = 0] = terminal.clock.pendingMs;
      waits.push(ms);
      await terminal.clock.advance(ms);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
  });

  test('tries again at once when it is told that the child is alive', async () => {
    using terminal = open();
    const { told, tell } = answers();
    terminal.input.write(Buffer.from(flood), tell);
    const all = await readAll(terminal.read, told, () => terminal.input.poke());
    assert.deepEqual([all === flood, terminal.clock.pendingMs, terminal.clock.now()], [true, [], 0]);
  });

  test('ends with one end-of-file at the start of a line', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from('line\n'), () => {});
    terminal.input.end();
    await reads(terminal.read, 'line\n', 'end of file');
  });

  test('ends with two inside a line: the first only hands over what there is of it', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from('no line feed'), () => {});
    terminal.input.end();
    await reads(terminal.read, 'no line feed', 'end of file');
  });

  test('ends an input that had nothing in it', async () => {
    using terminal = open();
    terminal.input.end();
    await reads(terminal.read, 'end of file');
  });

  test('answers what it gives up, and writes no more', () => {
    using terminal = open();
    const { told, tell } = answers();
    terminal.input.write(Buffer.from(flood), tell);
    terminal.input.destroy();
    terminal.input.write(Buffer.from('x\n'), tell);
    assert.deepEqual([told, terminal.clock.pendingMs], [['the terminal is closed', 'the terminal is closed'], []]);
  });
});
