// Everything that happens in a run, numbered and timestamped: in memory for current readers, and in a file for later.

import type { Clock } from '../base/clock.js';
import type { AgentEvent, EventBody } from './agent-event.js';
import { EventLog, type SeenEvent } from './event-log.js';
import { type RunHeader, RunLog } from './run-log.js';

export class RunRecord {
  readonly #events = new EventLog();
  readonly #clock: Clock;
  readonly #labels: Pick<RunHeader, 'labels'>;
  #file: RunLog | undefined;
  #fileProblem: string | undefined;

  constructor(header: RunHeader, { clock, folder }: { readonly clock: Clock; readonly folder: string | undefined }) {
    this.#clock = clock;
    this.#labels = header.labels === undefined ? {} : { labels: header.labels };
    this.#file = folder === undefined ? undefined : new RunLog(folder, header);
  }

  get file(): string | undefined {
    return this.#file?.path;
  }

  /** For the outcome: why the file does not hold every event, as far as is known yet. */
  get logProblem(): { readonly logProblem?: string } {
    return this.#fileProblem === undefined ? {} : { logProblem: this.#fileProblem };
  }

  /** Everything after this sequence number, then new events. */
  read(afterSeq = 0): AsyncGenerator<SeenEvent> {
    return this.#events.read(afterSeq);
  }

  /** Sequence number of the last event. */
  get lastSeq(): number {
    return this.#events.nextSeq - 1;
  }

  add(body: EventBody, turn: number): void {
    const event: AgentEvent = { seq: this.#events.nextSeq, at: this.#clock.now(), turn, ...this.#labels, ...body };
    this.#events.append(event);
    try {
      this.#file?.append(event);
    } catch (error) {
      // A full disk is no reason to end an agent's work; readers get a status event instead.
      this.#file = undefined;
      this.#fileProblem = error instanceof Error ? error.message : String(error);
      this.add({ type: 'status', status: `the log can no longer be written: ${this.#fileProblem}` }, turn);
    }
  }

  close(): void {
    this.#events.end();
    try {
      this.#file?.close();
    } catch (error) {
      // No more events can be added; only the outcome can report this.
      this.#fileProblem = error instanceof Error ? error.message : String(error);
    }
  }
}
