// Writes log lines to stderr the moment they are logged, without ever waiting for its reader: a pipe or terminal that takes nothing fills a
// bounded queue, and further lines are dropped and counted.

import { fstatSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';

/** Lines waiting for a reader. More are dropped. */
const queuedLogBytes = 1024 * 1024;

/** Pause before a terminal that another program has set to non-blocking, and that is full, is asked again. */
const retryMs = 100;

/** How long closing waits for the rest to be taken. */
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

  /** Lines that were dropped or could not be written since this was last asked. */
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
      if (error instanceof Error) this.#lostLines += 1; // a full disk behind stderr is no reason to end processes
      this.#queuedBytes -= line.length;
      if (this.#queuedBytes === 0) this.#flushed?.resolve();
    });
    return true;
  }

  /** Waits until everything is written, but not for long. */
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
    process.stderr.on('error', () => {}); // each write reports its own
    return (line, done) => void process.stderr.write(line, done);
  }
  return isatty(stderr) ? new TerminalLines(clock).put : putToFile;
}

/** A file takes everything at once. */
function putToFile(line: Uint8Array, done: Done): void {
  try {
    for (let rest = line; rest.length > 0;) rest = rest.subarray(writeSync(stderr, rest));
    done();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)));
  }
}

/** A terminal stopped with Ctrl-S blocks its writer, so a thread of Node's pool writes, one line at a time to keep their order. */
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
