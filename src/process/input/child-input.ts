// The two kinds of stdin: a pipe, which libuv can poll, and a terminal's master side, which it cannot.

import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../../base/clock.js';
import { spinBriefly } from './event-loop-spin.js';
import type { ChildInput } from '../child.js';
import { errnoOf } from '../start/spawn-failure.js';
import { InputLine, type TerminalModes, type Termios } from './terminal-modes.js';

export class PipeInput implements ChildInput {
  readonly #pipe: Writable;

  constructor(pipe: Writable) {
    this.#pipe = pipe;
    // EPIPE means that the child closed its stdin; the write in flight gets the error through its callback.
    pipe.on('error', () => pipe.destroy());
  }

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    spinBriefly();
    this.#pipe.write(bytes, (error) => taken(error ?? undefined));
  }

  end(): void {
    this.#pipe.end();
  }

  destroy(): void {
    this.#pipe.destroy();
  }
}

/** Delays between attempts while the terminal is full: short for a busy reader, growing until they cost nothing when there is none. */
const firstRetryMs = 1;
const lastRetryMs = 100;

/** Ctrl-D, the default. It is also restored for `end` when the program has disabled the character. */
const usualEndOfFile = 0x04;

/** Writes to the master directly: libuv treats it as a blocking terminal and would spin while the child does not read. */
export class PtyInput implements ChildInput {
  readonly #master: number;
  readonly #clock: Clock;
  readonly #termios: Termios;
  /** The unfinished line, which the terminal passes to the program only at a line end or an end-of-file character. */
  readonly #line = new InputLine();
  #pending: { rest: Uint8Array; readonly taken: (error: Error | undefined) => void } | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  #isDestroyed = false;

  constructor(master: number, { clock, termios }: { readonly clock: Clock; readonly termios: Termios }) {
    this.#master = master;
    this.#clock = clock;
    this.#termios = termios;
  }

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    if (this.#isDestroyed) return taken(new Error('the terminal is closed'));
    this.#pending = { rest: bytes, taken };
    spinBriefly();
    this.#attempt();
  }

  /**
   * A terminal signals end-of-file only at the start of a line; elsewhere the first such character just flushes the line so far. Outside
   * canonical mode it is a character like any other, but line editors still treat it as end-of-file.
   */
  end(): void {
    if (this.#isDestroyed) return;
    const modes = this.#termios.modes('now');
    const { endOfFile } = modes;
    // Nothing is typed after it, so no other input can be mistaken for it.
    if (endOfFile === undefined) this.#termios.setEndOfFile(usualEndOfFile);
    const character = endOfFile ?? usualEndOfFile;
    this.write(Uint8Array.of(...(this.#line.isAtStart(modes) ? [character] : [character, character])), () => {});
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#retry?.cancel();
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.taken(new Error('the terminal is closed'));
  }

  /** Retries now: the child has just written output, so it may have read input as well. */
  poke(): void {
    if (this.#retry === undefined) return;
    this.#retry.cancel();
    this.#retry = undefined;
    this.#retryMs = firstRetryMs;
    this.#attempt();
  }

  #attempt(): void {
    while (this.#pending !== undefined) {
      const { rest, taken } = this.#pending;
      try {
        if (rest.length > 0) this.#pending.rest = rest.subarray(this.#writeSome(rest));
      } catch (error) {
        if (errnoOf(error) === 'EAGAIN') return this.#retryLater();
        this.destroy();
        return;
      }
      if (this.#pending.rest.length > 0) continue;
      this.#pending = undefined;
      taken(undefined);
    }
  }

  /** Writes what fits into the line and returns how much that was. A full line is flushed first, because the kernel would truncate it. */
  #writeSome(bytes: Uint8Array): number {
    let modes = this.#termios.modes('lastKnown');
    if (this.#line.roomFor(bytes, modes) < bytes.length) modes = this.#termios.modes('recent');
    if (!modes.isCanonical) this.#line.clear();
    const room = modes.isCanonical ? this.#line.roomFor(bytes, modes) : bytes.length;
    if (room === 0) {
      this.#flushLine(modes);
      return 0;
    }
    const piece = bytes.subarray(0, room);
    const written = writeSync(this.#master, piece);
    if (written > 0) this.#retryMs = firstRetryMs;
    if (modes.isCanonical) this.#line.type(piece.subarray(0, written), modes);
    return written;
  }

  #flushLine({ endOfFile }: TerminalModes): void {
    // Without an end-of-file character the line cannot be flushed, and its rest would be lost: end input instead.
    if (endOfFile === undefined) throw new Error('the line is longer than the terminal accepts');
    writeSync(this.#master, Uint8Array.of(endOfFile));
    this.#line.clear();
  }

  #retryLater(): void {
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#attempt();
    });
    this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs);
  }
}
