// Lines on their way to stderr, which may take them slowly or not at all: one batch at a time, queued up to a limit, and dropped beyond
// it. So a full pipe never stops the server.

import { fstatSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';

/** Lines waiting for a reader. More are dropped. */
const queuedLogBytes = 1024 * 1024;

/** Written at once. */
const batchBytes = 16 * 1024;

/** Pause before a descriptor that cannot take anything right now, and says so instead of waiting, is asked again. */
const retryMs = 100;

/** How long closing waits for the rest to be taken. */
const flushMs = 500;

const stderr = 2;

/** Begins to write bytes, and tells how many it has written. */
type Put = (bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null | undefined, written: number) => void) => void;

export class LogWriter {
  #put: Put | undefined;
  readonly #clock: Clock;
  #lines: string[] = [];
  #queuedBytes = 0;
  #isWriting = false;
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
  write(line: string): boolean {
    const bytes = Buffer.byteLength(line);
    if (this.#queuedBytes + bytes > queuedLogBytes) {
      this.#lostLines += 1;
      return false;
    }
    this.#lines.push(line);
    this.#queuedBytes += bytes;
    if (!this.#isWriting) this.#writeNext();
    return true;
  }

  /** Waits until everything is written, but not for long. */
  async flush(): Promise<void> {
    if (!this.#isWriting) return;
    const flushed = (this.#flushed ??= deferred());
    const timer = this.#clock.after(flushMs, () => flushed.resolve());
    await flushed.promise;
    timer.cancel();
  }

  #writeNext(): void {
    const count = this.#countOfBatch();
    this.#isWriting = count > 0;
    if (count === 0) return this.#flushed?.resolve();
    const batch = Buffer.from(this.#lines.splice(0, count).join(''));
    this.#writeRest(batch, { bytes: batch.length, lines: count });
  }

  /** At least one line, if there is one. */
  #countOfBatch(): number {
    let [count, length] = [0, 0];
    for (const line of this.#lines) {
      length += line.length;
      if (count > 0 && length > batchBytes) break;
      count += 1;
    }
    return count;
  }

  #writeRest(rest: Uint8Array, batch: { readonly bytes: number; readonly lines: number }): void {
    this.#put ??= putToStderr();
    this.#put(rest, (error, written) => {
      if (error?.code === 'EAGAIN') {
        this.#clock.after(retryMs, () => this.#writeRest(rest, batch));
        return;
      }
      const hasFailed = error !== null && error !== undefined;
      if (!hasFailed && written < rest.length) return this.#writeRest(rest.subarray(written), batch);
      if (hasFailed) this.#lostLines += batch.lines; // a full disk behind stderr is no reason to end processes
      this.#queuedBytes -= batch.bytes;
      this.#writeNext();
    });
  }
}

/**
 * A pipe or socket is written to as far as it takes it. A stopped terminal would stop whoever writes to it, so that is left to a thread;
 * a thread waiting for a pipe would keep the program from ending.
 */
function putToStderr(): Put {
  const stats = fstatSync(stderr);
  if (stats.isFIFO() || stats.isSocket()) {
    process.stderr.on('error', () => {}); // each write tells its own
    return (bytes, done) => void process.stderr.write(bytes, (error) => done(error, bytes.length));
  }
  if (isatty(stderr)) return (bytes, done) => write(stderr, bytes, done);
  return putToFile;
}

function putToFile(bytes: Uint8Array, done: Parameters<Put>[1]): void {
  let [problem, written]: [NodeJS.ErrnoException | null, number] = [null, 0];
  try {
    written = writeSync(stderr, bytes);
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
  }
  done(problem, written);
}
