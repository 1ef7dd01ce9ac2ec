// The two kinds of stdin: a pipe, which libuv waits on, and a terminal's master side, which it cannot wait on.

import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../base/clock.js';
import { stayAwake } from './alertness.js';
import type { ChildInput } from './child.js';
import { errnoOf } from './spawn-failure.js';

export class PipeInput implements ChildInput {
  readonly #pipe: Writable;

  constructor(pipe: Writable) {
    this.#pipe = pipe;
    // A child that closed its stdin shows as EPIPE here; the write in flight is told through its callback.
    pipe.on('error', () => pipe.destroy());
  }

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    stayAwake();
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

const endOfFile = 0x04;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Writes to the master directly: libuv takes it for a blocking terminal and would spin when the child does not read. */
export class PtyInput implements ChildInput {
  readonly #master: number;
  readonly #clock: Clock;
  #pending: { rest: Uint8Array; readonly taken: (error: Error | undefined) => void } | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  /** A terminal passes end-of-file on only at the start of a line; elsewhere the first one just hands over the line so far. */
  #atLineStart = true;
  #isDestroyed = false;

  constructor(master: number, clock: Clock) {
    this.#master = master;
    this.#clock = clock;
  }

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    if (this.#isDestroyed) return taken(new Error('the terminal is closed'));
    const last = bytes.at(-1);
    if (last !== undefined) this.#atLineStart = last === lineFeed || last === carriageReturn || last === endOfFile;
    this.#pending = { rest: bytes, taken };
    stayAwake();
    this.#attempt();
  }

  end(): void {
    this.write(Uint8Array.of(...(this.#atLineStart ? [endOfFile] : [endOfFile, endOfFile])), () => {});
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
        const written = rest.length === 0 ? 0 : writeSync(this.#master, rest);
        if (written > 0) this.#retryMs = firstRetryMs;
        this.#pending.rest = rest.subarray(written);
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

  #retryLater(): void {
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#attempt();
    });
    this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs);
  }
}
