// The events of one process as they arrive over a wire: a queue that the server keeps short, because what is not
// acknowledged holds the process back.

import { type Ending, type ProcessEvent, type Seq, acknowledgeEveryBytes } from '../protocol/index.js';
import type { EventSource } from './exec-link.js';

export class RemoteSource implements EventSource {
  readonly #tell: (seq: Seq) => void;
  readonly #done: () => void;
  #queue: ProcessEvent[] = [];
  #waiting: ((event: ProcessEvent | undefined) => void) | undefined;
  #received: Seq;
  #replayedSeq: Seq = 0;
  /** Bytes up to where this began, once the server has said, and those since then. */
  #bytesBefore: number | undefined;
  #bytes = 0;
  #acknowledged: Seq = 0;
  #takenBytes = 0;
  #ending: Ending | undefined;
  #isClosed = false;
  #isForgotten = false;
  #isComplete = false;

  /** `done` is called once the last event was taken: nobody will ask for this source again. */
  constructor(afterSeq: Seq, { acknowledge, done }: { acknowledge: (seq: Seq) => void; done: () => void }) {
    this.#received = afterSeq;
    this.#tell = acknowledge;
    this.#done = done;
  }

  /** Number of the last event received: where to go on after a lost connection. */
  get received(): Seq {
    return this.#received;
  }

  /** The same for a process of another session, of which nothing is kept meanwhile: also how much has come, so that no byte is missed twice. */
  get cursor(): { readonly afterSeq: Seq; readonly afterBytes?: number } {
    if (this.#bytesBefore === undefined) return { afterSeq: this.#received };
    return { afterSeq: this.#received, afterBytes: this.#bytesBefore + this.#bytes };
  }

  get replayedSeq(): Seq {
    return this.#replayedSeq;
  }

  /** Infinity until the server has said how far the process has come. */
  replaysUpTo(seq: Seq): void {
    this.#replayedSeq = seq;
  }

  beginsAfter(bytes: number): void {
    this.#bytesBefore ??= bytes;
  }

  /** Number of the last event acknowledged. Said again after a lost connection, since nobody knows whether it arrived. */
  get acknowledged(): Seq {
    return this.#acknowledged;
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  get isForgotten(): boolean {
    return this.#isForgotten;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** False for what has come before: sent again by a server that did not know it had arrived. */
  push(event: ProcessEvent): boolean {
    if (event.seq <= this.#received) return false;
    this.#add(event);
    return true;
  }

  #add(event: ProcessEvent): void {
    this.#received = event.seq;
    this.#bytes += (event.droppedBytes ?? 0) + (event.type === 'output' ? event.chunk.length : 0);
    if (event.type === 'exited') this.#ending = event.ending;
    if (event.type === 'closed') this.#isComplete = true;
    if (this.#isClosed) return this.#taken(event); // nobody reads, and the process must not wait for it
    const waiting = this.#waiting;
    if (waiting === undefined) {
      this.#queue.push(event);
      return;
    }
    this.#waiting = undefined;
    this.#taken(event);
    waiting(event);
  }

  next(): Promise<ProcessEvent | undefined> {
    const event = this.#queue.shift();
    if (event !== undefined) {
      this.#taken(event);
      return Promise.resolve(event);
    }
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  /** Lets go of what is queued; the process runs on unhindered. */
  close(): void {
    if (this.#isClosed) return;
    this.end();
    const isComplete = this.#queue.at(-1)?.type === 'closed';
    this.#queue = [];
    this.#acknowledge(this.#received);
    if (isComplete) this.#done();
  }

  /** No more events will come. What is queued can still be taken. */
  end(): void {
    this.#isClosed = true;
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }

  /** The same, because the server has nothing more to tell. */
  forget(): void {
    this.#isForgotten = !this.#isClosed;
    this.end();
  }

  #acknowledge(seq: Seq): void {
    this.#acknowledged = seq;
    this.#tell(seq);
  }

  #taken(event: ProcessEvent): void {
    if (event.type === 'output') this.#takenBytes += event.chunk.length;
    if (event.type !== 'closed' && this.#takenBytes < acknowledgeEveryBytes) return;
    this.#takenBytes = 0;
    this.#acknowledge(event.seq);
    if (event.type === 'closed') this.#done();
  }
}
