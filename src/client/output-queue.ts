// The reading end of a handle: one cursor, shared by all readers of the handle's output, so that each byte is delivered once.

import type { Clock } from '../base/clock.js';
import type { Ending, ProcessEvent, Seq, Stream } from '../protocol/index.js';
import type { EventSource } from './exec-link.js';

/** A piece of output as it arrived. */
export interface OutputChunk {
  readonly seq: Seq;
  readonly stream: Stream;
  /** Empty when the chunk only reports bytes that are missing at the end. */
  readonly bytes: Uint8Array;
  /** Bytes missing just before this chunk; 0 unless they were no longer retained when the reader asked for them. */
  readonly droppedBytes: number;
  /**
   * true for output from before this reader attached, or from while its connection was lost. A terminal that shows it must not answer
   * the queries in it, because the program that sent them may have ended.
   */
  readonly isReplayed?: boolean;
}

export class OutputQueue {
  readonly #source: EventSource;
  /** Requested but not yet delivered: a reader that stops waiting leaves it to the next one. */
  #pending: Promise<ProcessEvent | undefined> | undefined;
  #lastStream: Stream = 'stdout';
  /** Settles when the previous reader has its event. */
  #turn: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** The next chunk, or undefined when there are no more. */
  async next(): Promise<OutputChunk | undefined> {
    for (;;) {
      const taken = await this.take();
      if (taken === 'closed') return undefined;
      if (taken !== 'exited') return taken;
    }
  }

  /** The next event: a chunk, the exit, or the end of everything. Concurrent callers take turns. */
  take(): Promise<OutputChunk | 'exited' | 'closed'> {
    const taken = this.#turn.then(() => this.#takeNext());
    this.#turn = taken.catch(() => {}); // the caller that took the event gets the error
    return taken;
  }

  async #takeNext(): Promise<OutputChunk | 'exited' | 'closed'> {
    if (this.#hasEnded) return 'closed';
    this.#pending ??= this.#source.next();
    const event = await this.#pending;
    this.#pending = undefined;
    if (event?.type === 'output') {
      this.#lastStream = event.stream;
      const { seq, stream, chunk: bytes, droppedBytes = 0 } = event;
      return { seq, stream, bytes, droppedBytes, ...(seq <= (this.#source.replayedSeq ?? 0) ? { isReplayed: true } : {}) };
    }
    if (event?.droppedBytes !== undefined) {
      const { droppedBytes, ...rest } = event;
      this.#pending = Promise.resolve(rest);
      return { seq: event.seq, stream: this.#lastStream, bytes: new Uint8Array(), droppedBytes };
    }
    switch (event?.type) {
      case 'exited':
        return 'exited';
      case 'closed':
      case undefined:
        this.close();
        return 'closed';
    }
  }

  /** Waits at most `ms` for an event; false when there is none by then. */
  ready(clock: Clock, ms: number): Promise<boolean> {
    if (this.#hasEnded) return Promise.resolve(true);
    const pending = (this.#pending ??= this.#source.next());
    return new Promise<boolean>((resolve) => {
      const timer = clock.after(ms, () => resolve(false));
      const settle = () => {
        timer.cancel();
        resolve(true);
      };
      pending.then(settle, settle);
    });
  }

  /** How the process ended, if this client has been notified. */
  get ending(): Ending | undefined {
    return this.#source.ending;
  }

  /** Whether all events of the process have arrived. */
  get isComplete(): boolean {
    return this.#source.isComplete === true;
  }

  /** Whether this client can no longer learn how the process ended. */
  get isForgotten(): boolean {
    return this.#source.isForgotten === true;
  }

  close(): void {
    this.#hasEnded = true;
    this.#source.close();
  }
}
