// The events of one process, emitted when the test says so.

import { type Deferred, deferred } from '#src/base/deferred.js';
import type { EventSource } from '#src/client/exec-link.js';
import { type Ending, type ProcessEvent, type Stream, asProcessId } from '#src/protocol/index.js';

const processId = asProcessId('p');

const ending: Ending = {
  kind: 'code',
  code: 0,
  reason: 'exited',
  outputComplete: true,
  droppedBytes: 0,
  startedAt: 0,
  endedAt: 0,
};

export class FakeEventSource implements EventSource {
  isClosed = false;
  ending: Ending | undefined;
  #seq = 0;
  readonly #events: ProcessEvent[] = [];
  readonly #waiting: Deferred<ProcessEvent | undefined>[] = [];

  async next(): Promise<ProcessEvent | undefined> {
    const event = this.#events.shift();
    if (event !== undefined || this.isClosed) return event;
    const waiting = deferred<ProcessEvent | undefined>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  close(): void {
    this.isClosed = true;
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(undefined);
  }

  /** Simulates output of the process. */
  output(stream: Stream, chunk: string | Uint8Array, droppedBytes?: number): void {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk;
    this.#emit({
      type: 'output',
      processId,
      seq: this.#next(),
      stream,
      chunk: bytes,
      ...(droppedBytes === undefined ? {} : { droppedBytes }),
    });
  }

  exited(): void {
    this.ending = ending;
    this.#emit({ type: 'exited', processId, seq: this.#next(), exitCode: 0, sandboxDenied: false, ending });
  }

  closed(): void {
    this.#emit({ type: 'closed', processId, seq: this.#next() });
  }

  #next(): number {
    this.#seq += 1;
    return this.#seq;
  }

  #emit(event: ProcessEvent): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#events.push(event);
    else waiting.resolve(event);
  }
}
