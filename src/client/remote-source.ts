// The events of one process as they arrive over a wire. The queue stays short, because the server blocks the process until
// its output is acknowledged.

import { type Ending, type ProcessEvent, type Seq, acknowledgeEveryBytes } from '../protocol/index.js';
import type { EventSource } from './exec-link.js';

export class RemoteSource implements EventSource {
  readonly #sendAck: (seq: Seq) => void;
  readonly #done: () => void;
  #queue: ProcessEvent[] = [];
  #waiting: ((event: ProcessEvent | undefined) => void) | undefined;
  #received: Seq;
  #replayedSeq: Seq = 0;
  /** Output bytes before this source's first event, once the server has reported them, and the bytes since. */
  #bytesBefore: number | undefined;
  #bytes = 0;
  #acknowledged: Seq = 0;
  #takenBytes = 0;
  #ending: Ending | undefined;
  #isClosed = false;
  #isForgotten = false;
  #isComplete = false;

  /** `done` is called once the last event has been read; the source is not needed after that. */
  constructor(afterSeq: Seq, { acknowledge, done }: { acknowledge: (seq: Seq) => void; done: () => void }) {
    this.#received = afterSeq;
    this.#sendAck = acknowledge;
    this.#done = done;
  }

  /** Number of the last event received, where to resume after a lost connection. */
  get received(): Seq {
    return this.#received;
  }

  /** The same for an attached process, for which the server keeps no state; the byte count prevents missing bytes from counting twice. */
  get cursor(): { readonly afterSeq: Seq; readonly afterBytes?: number } {
    if (this.#bytesBefore === undefined) return { afterSeq: this.#received };
    return { afterSeq: this.#received, afterBytes: this.#bytesBefore + this.#bytes };
  }

  get replayedSeq(): Seq {
    return this.#replayedSeq;
  }

  /** `seq` is Infinity until the server has reported the number of the latest event. */
  replaysUpTo(seq: Seq): void {
    this.#replayedSeq = seq;
  }

  beginsAfter(bytes: number): void {
    this.#bytesBefore ??= bytes;
  }

  /** Number of the last event acknowledged. Sent again after a lost connection, since it may not have arrived. */
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

  /** False for a duplicate, which a server sends when it does not know that the event has arrived. */
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
    if (this.#isClosed) return this.#taken(event); // there is no reader, and the process must not wait for one
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

  /** Discards the queue and all further output, so that the process is not blocked. */
  close(): void {
    if (this.#isClosed) return;
    this.end();
    const isComplete = this.#queue.at(-1)?.type === 'closed';
    this.#queue = [];
    this.#acknowledge(this.#received);
    if (isComplete) this.#done();
  }

  /** No more events will arrive. Queued events can still be read. */
  end(): void {
    this.#isClosed = true;
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }

  /** Like `end`, because the server has forgotten the process. */
  forget(): void {
    this.#isForgotten = !this.#isClosed;
    this.end();
  }

  #acknowledge(seq: Seq): void {
    this.#acknowledged = seq;
    this.#sendAck(seq);
  }

  #taken(event: ProcessEvent): void {
    if (event.type === 'output') this.#takenBytes += event.chunk.length;
    if (event.type !== 'closed' && this.#takenBytes < acknowledgeEveryBytes) return;
    this.#takenBytes = 0;
    this.#acknowledge(event.seq);
    if (event.type === 'closed') this.#done();
  }
}
