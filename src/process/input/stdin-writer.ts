// One process's stdin: ordered, bounded, retry-safe. Delaying the answer to a write is the back-pressure.

import { type Deferred, deferred } from '../../base/deferred.js';
import { execError, type ProcessId } from '../../protocol/index.js';
import type { ChildInput } from '../child.js';

export interface StdinLimits {
  /** A write is answered once at most this much is queued up to and including its last byte. */
  readonly stdinWindowBytes: number;
  /** A write that would bring the queue above this is refused. */
  readonly stdinCapBytes: number;
}

/** Whether a write is sent for the first time, or again because its answer was lost, so it may have arrived before. */
export type Sending = 'first' | 'again';

export type WriteStatus = 'accepted' | 'stdinClosed';

/** Write ids remembered per process: the same number as in Codex, so that its retries work. */
const rememberedWrites = 4096;

/** Bytes per write to the kernel, so that progress is known in steps; queued small writes are merged up to this size. */
const sliceBytes = 64 * 1024;

interface Slice {
  /** May be longer than its content. */
  buffer: Uint8Array;
  length: number;
}

interface Answer {
  /** Offset just past the write's last byte, counted over all writes. */
  readonly endOffset: number;
  readonly done: Deferred<WriteStatus>;
}

export class StdinWriter {
  readonly #processId: ProcessId;
  readonly #limits: StdinLimits;
  #input: ChildInput | undefined;
  #queue: Slice[] = [];
  #answers: Answer[] = [];
  #offeredBytes = 0;
  #takenBytes = 0;
  #isWriting = false;
  #isEnding = false;
  // Created when needed: most processes are never written to, and writes are rarely refused.
  #seen: Map<string, Promise<WriteStatus>> | undefined;
  #refused: Set<string> | undefined;

  constructor(processId: ProcessId, input: ChildInput | undefined, limits: StdinLimits) {
    this.#processId = processId;
    this.#input = input;
    this.#limits = limits;
  }

  /** Bytes that the kernel has not accepted yet. */
  get queuedBytes(): number {
    return this.#offeredBytes - this.#takenBytes;
  }

  /**
   * Queues the bytes before returning. A known write id gets the answer of the first write. A refused write may be tried again as a
   * `first` sending, but not as `again`: later writes may have been accepted, and it would end up behind them.
   */
  write(bytes: Uint8Array, writeId: string | undefined, sending: Sending = 'first'): Promise<WriteStatus> {
    const first = writeId === undefined ? undefined : this.#seen?.get(writeId);
    if (first !== undefined) return first;
    if (this.#input === undefined || this.#isEnding) return Promise.resolve('stdinClosed');
    const freeBytes = this.#limits.stdinCapBytes - this.queuedBytes;
    const wasRefused = sending === 'again' && writeId !== undefined && this.#refused?.has(writeId) === true;
    if (bytes.length > freeBytes || wasRefused) {
      if (writeId !== undefined) forgetOldest((this.#refused ??= new Set()).add(writeId));
      const { queuedBytes } = this;
      throw execError('stdinFull', { processId: this.#processId, offeredBytes: bytes.length, queuedBytes, freeBytes });
    }
    const answer = this.#enqueue(bytes);
    if (writeId !== undefined) this.#remember(writeId, answer);
    return answer;
  }

  /** Ends stdin once everything queued is written. */
  end(): 'closed' | 'alreadyClosed' {
    if (this.#input === undefined || this.#isEnding) return 'alreadyClosed';
    this.#isEnding = true;
    this.#pump();
    return 'closed';
  }

  /** The process has ended and will read no more input. */
  close(): void {
    const input = this.#input;
    this.#input = undefined;
    this.#queue = [];
    this.#takenBytes = this.#offeredBytes;
    for (const { done } of this.#answers.splice(0)) done.resolve('stdinClosed');
    input?.destroy();
  }

  #enqueue(bytes: Uint8Array): Promise<WriteStatus> {
    this.#append(bytes);
    this.#offeredBytes += bytes.length;
    this.#pump();
    if (this.#offeredBytes - this.#takenBytes <= this.#limits.stdinWindowBytes) {
      return Promise.resolve(this.#input === undefined ? 'stdinClosed' : 'accepted');
    }
    const done = deferred<WriteStatus>();
    this.#answers.push({ endOffset: this.#offeredBytes, done });
    return done.promise;
  }

  /** Copies, since the caller may reuse its buffer before the child has read. A million tiny writes become a few slices. */
  #append(bytes: Uint8Array): void {
    const last = this.#queue.at(-1);
    if (last !== undefined && last.length + bytes.length <= sliceBytes) {
      const length = last.length + bytes.length;
      if (length > last.buffer.length) {
        const grown = new Uint8Array(Math.min(length * 2, sliceBytes));
        grown.set(last.buffer);
        last.buffer = grown;
      }
      last.buffer.set(bytes, last.length);
      last.length = length;
      return;
    }
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      const buffer = Uint8Array.prototype.slice.call(bytes, at, at + sliceBytes);
      this.#queue.push({ buffer, length: buffer.length });
    }
  }

  #remember(writeId: string, answer: Promise<WriteStatus>): void {
    this.#seen ??= new Map();
    this.#seen.set(writeId, answer);
    this.#refused?.delete(writeId);
    forgetOldest(this.#seen);
  }

  #pump(): void {
    if (this.#isWriting || this.#input === undefined) return;
    const slice = this.#queue.shift();
    if (slice === undefined) {
      if (this.#isEnding) this.#finish(this.#input);
      return;
    }
    this.#isWriting = true;
    this.#input.write(slice.buffer.subarray(0, slice.length), (error) => {
      this.#isWriting = false;
      if (error !== undefined || this.#input === undefined) return this.close();
      this.#takenBytes += slice.length;
      this.#answerFitting();
      this.#pump();
    });
  }

  #finish(input: ChildInput): void {
    this.#input = undefined;
    input.end();
  }

  #answerFitting(): void {
    const unfit = this.#answers.findIndex(({ endOffset }) => endOffset - this.#takenBytes > this.#limits.stdinWindowBytes);
    const fitting = this.#answers.splice(0, unfit < 0 ? Infinity : unfit);
    for (const { done } of fitting) done.resolve('accepted');
  }
}

function forgetOldest(ids: { readonly size: number; keys(): Iterable<string>; delete(id: string): unknown }): void {
  if (ids.size <= rememberedWrites) return;
  const [oldest] = ids.keys();
  if (oldest !== undefined) ids.delete(oldest);
}
