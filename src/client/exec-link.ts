// What a client is driven by: calls one way, events the other. In-process it is the service itself; over a wire, a stub.

import type {
  ConnectionService,
  Ending,
  Notification,
  Params,
  ProcessEvent,
  ProcessId,
  ProcessStatus,
  Result,
  Seq,
} from '../protocol/index.js';

/** The events of one process in order. What is not taken holds the process back, never memory. */
export interface EventSource {
  /** Undefined once the source is closed. */
  next(): Promise<ProcessEvent | undefined>;
  /** How the process ended, once that is known here, whether or not it was taken. */
  readonly ending: Ending | undefined;
  /** The last event of the process has come, whether or not it was taken: everything is over, and `ending` is known unless it came before. */
  readonly isComplete?: boolean;
  /** Events up to this number had happened before the present connection; 0 when absent. */
  readonly replayedSeq?: Seq;
  /** The server no longer knows the process, while somebody here still waited for it: what was not heard of it will not be. */
  readonly isForgotten?: boolean;
  close(): void;
}

export interface Attached {
  readonly status: ProcessStatus;
  /** Over from the start when the process is not followed. */
  readonly events: EventSource;
}

/** Output of a one-shot command. */
export type OutputDelta = Notification<'command/exec/outputDelta'>;

export interface ExecLink {
  /** Everything that can be asked. What changes which events come is asked by `attach`, `detach`, `release` and `close` below. */
  readonly service: ConnectionService;
  /** Calls `listener` with the output of the command of this id until disposed. */
  onOutputDelta(processId: ProcessId, listener: (delta: OutputDelta) => void): Disposable;
  /** Whoever opens a source closes it. */
  follow(processId: ProcessId, afterSeq: Seq): EventSource;
  /** Calls `listener` with every event of every process that is followed here, as it comes, until disposed. Holds nothing back. */
  watch(listener: (event: ProcessEvent) => void): Disposable;
  /** Joins a process that somebody else started; also one of another session. */
  attach(params: Params<'process/attach'>): Promise<Attached>;
  /** Leaves it again; it runs on. */
  detach(processId: ProcessId): Promise<void>;
  /** Makes a process outlive the session. */
  release(params: Params<'process/release'>): Promise<Result<'process/release'>>;
  /** Resolves when the link is over for good: with why when it was lost, with nothing when it was closed from here. */
  readonly ended: Promise<string | undefined>;
  /** Ends the session and with it every process. */
  close(): Promise<void>;
}
