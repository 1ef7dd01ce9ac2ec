// Writes log lines to stderr immediately and never blocks on its reader: if a pipe or terminal does not accept data, lines go to a bounded
// queue, and once that is full, further lines are dropped and counted.

import { fstatSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';

/** Bytes of lines that wait for the reader; further lines are dropped. */
const queuedLogBytes = 1024 * 1024;

/** Delay before retrying a full terminal that another program has set to non-blocking mode. */
const retryMs = 100;

/** How long closing waits for queued lines to be written. */
const flushMs = 500;

const stderr = 2;

type Done = (error?: Error | null) => void;

export class LogWriter {
  #put: ((line: Uint8Array, done: Done) => void) | undefined;
  readonly #clock: Clock;
  #queuedBytes = 0;
  #lostLines = 0;
  #flushed: Deferred<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lines dropped or not writable since the last call. */
  takeLostLines(): number {
    const lost = this.#lostLines;
    this.#lostLines = 0;
    return lost;
  }

  /** False when the line was dropped. */
  write(text: string): boolean {
    const line = Buffer.from(text);
    if (this.#queuedBytes + line.length > queuedLogBytes) {
      this.#lostLines += 1;
      return false;
    }
    this.#put ??= openStderr(this.#clock);
    this.#queuedBytes += line.length;
    this.#put(line, (error) => {
      if (error instanceof Error) this.#lostLines += 1; // a full disk behind stderr must not end processes
      this.#queuedBytes -= line.length;
      if (this.#queuedBytes === 0) this.#flushed?.resolve();
    });
    return true;
  }

  /** Waits until everything is written, or at most `flushMs`. */
  async flush(): Promise<void> {
    if (this.#queuedBytes === 0) return;
    const flushed = (this.#flushed ??= deferred());
    const timer = this.#clock.after(flushMs, () => flushed.resolve());
    await flushed.promise;
    timer.cancel();
  }
}

function openStderr(clock: Clock): (line: Uint8Array, done: Done) => void {
  const stats = fstatSync(stderr);
  if (stats.isFIFO() || stats.isSocket()) {
    process.stderr.on('error', () => {}); // each write reports its own error
    return (line, done) => void process.stderr.write(line, done);
  }
  return isatty(stderr) ? new TerminalLines(clock).put : putToFile;
}

/** A file has no reader to wait for, so it is written synchronously. */
function putToFile(line: Uint8Array, done: Done): void {
  try {
    for (let rest = line; rest.length > 0;) rest = rest.subarray(writeSync(stderr, rest));
    done();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)));
  }
}

/** A terminal stopped with Ctrl-S blocks its writer, so Node's thread pool does the writing, one line at a time to keep the order. */
class TerminalLines {
  readonly #clock: Clock;
  readonly #lines: { rest: Uint8Array; readonly done: Done }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly put = (rest: Uint8Array, done: Done): void => {
    if (this.#lines.push({ rest, done }) === 1) this.#writeFirst();
  };

  #writeFirst(): void {
    const [line] = this.#lines;
    if (line === undefined) return;
    write(stderr, line.rest, (error, written) => {
      if (error?.code === 'EAGAIN') return void this.#clock.after(retryMs, () => this.#writeFirst());
      line.rest = line.rest.subarray(written);
      if (error !== null || line.rest.length === 0) {
        this.#lines.shift();
        line.done(error);
      }
      this.#writeFirst();
    });
  }
}
