// What a client is driven by: calls one way, events the other. In-process it is the service itself; over a wire, a stub.

import type { Ending, ExecService, ProcessEvent, ProcessId, Seq } from '../protocol/index.js';

/** The events of one process in order. What is not taken holds the process back, never memory. */
export interface EventSource {
  /** Undefined once the source is closed. */
  next(): Promise<ProcessEvent | undefined>;
  /** How the process ended, once that is known here, whether or not it was taken. */
  readonly ending: Ending | undefined;
  close(): void;
}

export interface ExecLink {
  readonly service: ExecService;
  /** Whoever opens a source closes it. */
  follow(processId: ProcessId, afterSeq: Seq): EventSource;
  /** Resolves when the link is over for good: with why when it was lost, with nothing when it was closed from here. */
  readonly ended: Promise<string | undefined>;
  /** Ends the session and with it every process. */
  close(): Promise<void>;
}
