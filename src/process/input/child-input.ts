// The two kinds of stdin: a pipe, which libuv waits on, and a terminal's master side, which it cannot wait on.

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
    // A child that closed its stdin shows as EPIPE here; the write in flight is told through its callback.
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

/** Waits between tries when the terminal is full: short for a reader that is merely busy, long enough to cost nothing when there is none. */
const firstRetryMs = 1;
const lastRetryMs = 100;

/** Ctrl-D: what a terminal starts with, and is given when its program has switched the character off. */
const usualEndOfFile = 0x04;

/** Writes to the master directly: libuv takes it for a blocking terminal and would spin when the child does not read. */
export class PtyInput implements ChildInput {
  readonly #master: number;
  readonly #clock: Clock;
  readonly #termios: Termios;
  /** What the terminal has of a line, which only its end, or an end-of-file character, hands to the program. */
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
   * A terminal passes end-of-file on only at the start of a line; elsewhere the first one just hands over the line so far. Outside
   * canonical mode it is a character like any other, which line editors take for the end all the same.
   */
  end(): void {
    if (this.#isDestroyed) return;
    const modes = this.#termios.modes('now');
    const { endOfFile } = modes;
    // Nothing is typed after it, so nothing else can be mistaken for it.
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

  /** The child has just written: it may have read as well, so there is no need to sit out the wait. */
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

  /** As much as the line has room for, and how much that was. A full line is handed to the program first, for the kernel would cut it. */
  #writeSome(bytes: Uint8Array): number {
    let modes = this.#termios.modes('lastKnown');
    if (this.#line.roomFor(bytes, modes) < bytes.length) modes = this.#termios.modes('recent');
    if (!modes.isCanonical) this.#line.clear();
    const room = modes.isCanonical ? this.#line.roomFor(bytes, modes) : bytes.length;
    if (room === 0) {
      this.#handOverLine(modes);
      return 0;
    }
    const piece = bytes.subarray(0, room);
    const written = writeSync(this.#master, piece);
    if (written > 0) this.#retryMs = firstRetryMs;
    if (modes.isCanonical) this.#line.type(piece.subarray(0, written), modes);
    return written;
  }

  #handOverLine({ endOfFile }: TerminalModes): void {
    // Without the character the rest of the line could only be lost: input ends here instead.
    if (endOfFile === undefined) throw new Error('the line is longer than the terminal takes');
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
