// Lines on their way to a file descriptor that may take them slowly or not at all: written one batch at a time outside the event loop,
// queued up to a limit, and dropped beyond it. So a full pipe never stops the server.

import { write } from 'node:fs';
import { type Clock } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';

/** Lines waiting for a reader. More are dropped. */
const queuedLogBytes = 1024 * 1024;

/** Written at once: a pipe's capacity can be shared with others, and what waits for it holds a thread. */
const batchBytes = 16 * 1024;

/** Pause before a descriptor that cannot take anything right now, and says so instead of waiting, is asked again. */
const retryMs = 100;

/** How long closing waits for the rest to be taken. */
const flushMs = 500;

export class LogWriter {
  readonly #descriptor: number;
  readonly #clock: Clock;
  #lines: string[] = [];
  #queuedBytes = 0;
  #isWriting = false;
  #lostLines = 0;
  #flushed: Deferred<void> | undefined;

  constructor(descriptor: number, clock: Clock) {
    this.#descriptor = descriptor;
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
    this.#flushed ??= deferred();
    const timer = this.#clock.after(flushMs, () => this.#flushed?.resolve());
    await this.#flushed.promise;
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

  #writeRest(rest: Buffer, batch: { readonly bytes: number; readonly lines: number }): void {
    write(this.#descriptor, rest, (error, written) => {
      if (error?.code === 'EAGAIN') {
        this.#clock.after(retryMs, () => this.#writeRest(rest, batch));
        return;
      }
      if (error === null && written < rest.length) return this.#writeRest(rest.subarray(written), batch);
      if (error !== null) this.#lostLines += batch.lines; // a full disk behind stderr is no reason to end processes
      this.#queuedBytes -= batch.bytes;
      this.#writeNext();
    });
  }
}
