// The two kinds of stdin: pipes, which libuv polls, and terminals, to which writes are retried.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { PipeInput, PtyInput } from '#src/process/input/child-input.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { LinuxTermios } from '#src/process/linux/termios.js';
import { SttyTermios } from '#src/process/portable/stty.js';
import type { Termios } from '#src/process/input/terminal-modes.js';
import { eventually } from '../support/eventually.js';
import { FakeClock, settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Terminal, noTerminal, openTerminal, readNow } from '../support/terminal.js';

/** Records how each write was answered: 'taken', or the error's message. */
function answers() {
  const results: string[] = [];
  return { results, record: (error: Error | undefined) => void results.push(error?.message ?? 'taken') };
}

describe('a pipe', () => {
  /** A pipe that takes a write when the test calls `take`. */
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

  test('answers a write once the kernel has taken it, not before', async () => {
    const { input, take } = open();
    const { results, record } = answers();
    input.write(Buffer.from('x'), record);
    await settle();
    assert.deepEqual(results, []);
    take();
    await settle();
    assert.deepEqual(results, ['taken']);
  });

  test('answers with the error when the child has closed its end, and is destroyed', async () => {
    const { input, pipe, take } = open();
    const { results, record } = answers();
    input.write(Buffer.from('x'), record);
    take(new Error('EPIPE'));
    await settle();
    assert.deepEqual([results, pipe.destroyed], [['EPIPE'], true]);
  });

  test('ends after pending writes', async () => {
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
  function open(termiosOf: (terminal: Terminal) => Termios = linuxTermios, ...settings: string[]) {
    const clock = new FakeClock();
    const terminal = openTerminal();
    const slave = terminal.openSlave();
    if (settings.length > 0) stty(terminal, ...settings);
    const input = new PtyInput(terminal.master, { clock, termios: termiosOf(terminal) });
    return {
      clock,
      input,
      read: () => readNow(slave),
      /** Reads, and also pokes the writer, as the child's output would. */
      pokeAndRead: () => {
        input.poke();
        return readNow(slave);
      },
      [Symbol.dispose]() {
        input.destroy();
        closeSync(slave);
        closeSync(terminal.master);
      },
    };
  }

  /** More whole lines than a terminal takes before they are read. */
  const flood = 'a line of text\n'.repeat(5_000);

  /** Checks that the reader gets exactly these pieces, one per read. */
  async function reads(read: () => string, ...expected: string[]): Promise<void> {
    const got: string[] = [];
    await eventually(() => {
      for (let piece = read(); piece !== ''; piece = read()) got.push(piece);
      assert.deepEqual(got, expected);
    });
  }

  /** Reads until the write is answered and nothing is left, and calls `retry` in between. */
  async function readAll(read: () => string, results: readonly string[], retry: () => void | Promise<void>): Promise<string> {
    let all = '';
    await eventually(async () => {
      for (let piece = read(); piece !== ''; piece = read()) all += piece;
      await retry();
      assert.deepEqual([results, all.length], [['taken'], flood.length]);
    });
    return all;
  }

  test('passes on what is written and answers immediately when there is room', async () => {
    using terminal = open();
    const { results, record } = answers();
    terminal.input.write(Buffer.from('hello\n'), record);
    assert.deepEqual(results, ['taken']);
    await reads(terminal.read, 'hello\n');
  });

  test('retries after a delay when it is full, and loses nothing', async () => {
    using terminal = open();
    const { results, record } = answers();
    terminal.input.write(Buffer.from(flood), record);
    assert.deepEqual([results, terminal.clock.pendingMs], [[], [1]]);
    const all = await readAll(terminal.read, results, () => terminal.clock.advance(100));
    assert.deepEqual([all === flood, terminal.clock.pendingMs], [true, []]);
  });

  test('waits longer and longer while nothing is read, up to a tenth of a second', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from(flood), () => {});
    // The kernel moves what it has taken to another buffer with some delay; only then is the terminal really full.
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

  test('retries immediately when poked', async () => {
    using terminal = open();
    const { results, record } = answers();
    terminal.input.write(Buffer.from(flood), record);
    const all = await readAll(terminal.read, results, () => terminal.input.poke());
    assert.deepEqual([all === flood, terminal.clock.pendingMs, terminal.clock.now()], [true, [], 0]);
  });

  test('ends with one end-of-file at the start of a line', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from('line\n'), () => {});
    terminal.input.end();
    await reads(terminal.read, 'line\n', 'end of file');
  });

  test('ends with two inside a line: the first only flushes the line so far', async () => {
    using terminal = open();
    terminal.input.write(Buffer.from('no line feed'), () => {});
    terminal.input.end();
    await reads(terminal.read, 'no line feed', 'end of file');
  });

  test('ends an empty input', async () => {
    using terminal = open();
    terminal.input.end();
    await reads(terminal.read, 'end of file');
  });

  test('that is destroyed answers its pending write and refuses further ones', () => {
    using terminal = open();
    const { results, record } = answers();
    terminal.input.write(Buffer.from(flood), record);
    terminal.input.destroy();
    terminal.input.write(Buffer.from('x\n'), record);
    assert.deepEqual([results, terminal.clock.pendingMs], [['the terminal is closed', 'the terminal is closed'], []]);
  });

  for (const [name, termiosOf] of [
    ['the kernel', linuxTermios],
    ['stty', ({ path }: Terminal) => new SttyTermios(path)],
  ] as const) {
    describe(`with settings from ${name}`, () => {
      test('ends with the end-of-file character that its program has set', async () => {
        using terminal = open(termiosOf, 'eof', '^X');
        terminal.input.write(Buffer.from('\u0004'), () => {});
        terminal.input.end();
        await reads(terminal.read, '\u0004', 'end of file');
      });

      test('ends although its program has disabled the end-of-file character', async () => {
        using terminal = open(termiosOf, 'eof', 'undef');
        terminal.input.write(Buffer.from('a\u0004b\n'), () => {});
        await reads(terminal.read, 'a\u0004b\n');
        terminal.input.end();
        await reads(terminal.read, 'end of file');
      });

      test('ends after a carriage return that does not end a line', async () => {
        using terminal = open(termiosOf, '-icrnl');
        terminal.input.write(Buffer.from('text\r'), () => {});
        terminal.input.end();
        await reads(terminal.read, 'text\r', 'end of file');
      });

      test('outside canonical mode receives the end-of-file character as a byte', async () => {
        using terminal = open(termiosOf, '-icanon', 'min', '1', 'eof', '^X');
        terminal.input.end();
        await reads(terminal.read, '\u0018');
      });

      test('receives the longest line in one piece', async () => {
        using terminal = open(termiosOf);
        terminal.input.write(Buffer.from(`${line(4_095)}\nnext\n`), () => {});
        await reads(terminal.read, `${line(4_095)}\n`, 'next\n');
      });

      test('receives a longer line in pieces without loss', async () => {
        for (const [settings, eof] of [
          [[], '\u0004'],
          [['eof', '^X'], '\u0018'],
        ] as const) {
          using terminal = open(termiosOf, ...settings);
          terminal.input.write(Buffer.from(`${line(10_000)}\n`), () => {});
          terminal.input.write(Buffer.from(`next${eof}`), () => {});
          const pieces = [line(10_000).slice(0, 4_095), line(10_000).slice(4_095, 8_190), `${line(10_000).slice(8_190)}\n`];
          await reads(terminal.pokeAndRead, ...pieces, 'next');
        }
      });

      test('receives a long line in pieces even when it is written a few bytes at a time and never ends', async () => {
        using terminal = open(termiosOf);
        for (let at = 0; at < 9_000; at += 100) terminal.input.write(Buffer.from(line(9_000).slice(at, at + 100)), () => {});
        terminal.input.end();
        await reads(
          terminal.pokeAndRead,
          line(9_000).slice(0, 4_095),
          line(9_000).slice(4_095, 8_190),
          line(9_000).slice(8_190),
          'end of file',
        );
      });

      test('receives a long line in smaller pieces where each byte may take the space of three', async () => {
        using terminal = open(termiosOf, 'parmrk', '-ignpar', '-istrip', '-inpck');
        const text = Buffer.alloc(6_000, 0xff);
        terminal.input.write(Buffer.concat([text, Buffer.from('\n')]), () => {});
        let got = '';
        await eventually(() => {
          got += terminal.pokeAndRead();
          assert.equal(got.length, 12_001);
        });
        assert.equal(got, `${'\u00ff\u00ff'.repeat(6_000)}\n`);
      });

      test('outside canonical mode receives a long line unchanged', async () => {
        using terminal = open(termiosOf, '-icanon', 'min', '1');
        const { results, record } = answers();
        terminal.input.write(Buffer.from(line(20_000)), record);
        let got = '';
        await eventually(() => {
          got += terminal.pokeAndRead();
          assert.equal(got.length, 20_000);
        });
        assert.deepEqual([got === line(20_000), results], [true, ['taken']]);
      });

      test('has its input ended when a line is too long and cannot be flushed', async () => {
        using terminal = open(termiosOf, 'eof', 'undef');
        const { results, record } = answers();
        terminal.input.write(Buffer.from(line(5_000)), record);
        assert.deepEqual(results, ['the terminal is closed']);
      });
    });
  }
});

/** Text without a line feed in which a missing piece is noticeable. */
function line(length: number): string {
  return Array.from({ length: Math.ceil(length / 5) }, (_, index) => String(index).padStart(5, '0'))
    .join('')
    .slice(0, length);
}

function linuxTermios({ master }: Terminal): Termios {
  const libc = loadLibc();
  assert.ok(libc);
  return new LinuxTermios(libc, master);
}

function stty(terminal: Terminal, ...settings: string[]): void {
  const slave = terminal.openSlave(); // Node makes a descriptor that a child inherits blocking
  assert.equal(spawnSync('stty', settings, { stdio: [slave, 'ignore', 'inherit'] }).status, 0);
  closeSync(slave);
}
