// The reading end of a handle: one cursor, shared by everything that reads the handle's output, so that each byte is seen once.

import type { Clock } from '../base/clock.js';
import type { Ending, ProcessEvent, Seq, Stream } from '../protocol/index.js';
import type { EventSource } from './exec-link.js';

/** Output as it arrived. */
export interface OutputChunk {
  readonly seq: Seq;
  readonly stream: Stream;
  /** Empty when there is nothing to tell but what is missing at the end. */
  readonly bytes: Uint8Array;
  /** Bytes missing just before this chunk; 0 unless the reader came too late for what was retained. */
  readonly droppedBytes: number;
  /**
   * true when it was written before this reader attached, or while its connection was lost. A terminal that shows it must not answer
   * the queries in it: the program that asked may have gone.
   */
  readonly isReplayed?: boolean;
}

export class OutputQueue {
  readonly #source: EventSource;
  /** Asked for and not taken yet: a reader that stopped waiting leaves it to the next one. */
  #pending: Promise<ProcessEvent | undefined> | undefined;
  #lastStream: Stream = 'stdout';
  /** Ends when the reader before has got its event. */
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** The next chunk, or undefined when there will be none. */
  async next(): Promise<OutputChunk | undefined> {
    for (;;) {
      const taken = await this.take();
      if (taken === 'closed') return undefined;
      if (taken !== 'exited') return taken;
    }
  }

  /** The next thing that happens: a chunk, the exit, or the end of everything. Whoever asks at the same time waits for its turn. */
  take(): Promise<OutputChunk | 'exited' | 'closed'> {
    const taken = this.#turn.then(() => this.#takeNext());
    this.#turn = taken.catch(() => {}); // told to whoever took
    return taken;
  }

  async #takeNext(): Promise<OutputChunk | 'exited' | 'closed'> {
    if (this.#isOver) return 'closed';
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

  /** Waits for something to take, no longer than `ms`; false when the time is up. */
  ready(clock: Clock, ms: number): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(true);
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

  /** How the process ended, as far as this side has heard. */
  get ending(): Ending | undefined {
    return this.#source.ending;
  }

  /** Everything about the process has been heard. */
  get isComplete(): boolean {
    return this.#source.isComplete === true;
  }

  /** How it ended will never be heard here. */
  get isForgotten(): boolean {
    return this.#source.isForgotten === true;
  }

  close(): void {
    this.#isOver = true;
    this.#source.close();
  }
}
