// What a client needs from a server: calls in one direction, events in the other. In-process it is the service itself; over a wire, a stub.

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
import type { Flow } from '../rpc/flow.js';

/** The events of one process in order. Unread output blocks the process instead of filling memory. */
export interface EventSource {
  /** Undefined once the source is closed. */
  next(): Promise<ProcessEvent | undefined>;
  /** How the process ended, once the event has arrived, even if it has not been read. */
  readonly ending: Ending | undefined;
  /** True once the last event of the process has arrived, even if not read. `ending` is then set unless its event preceded this source. */
  readonly isComplete?: boolean;
  /** Events up to this number happened before the current connection; 0 when absent. */
  readonly replayedSeq?: Seq;
  /** The server forgot the process while this source was still open, so its remaining events will never arrive. */
  readonly isForgotten?: boolean;
  close(): void;
}

export interface Attached {
  readonly status: ProcessStatus;
  /** Already closed when the process is not followed. */
  readonly events: EventSource;
}

/** Output of a one-shot command. */
export type OutputDelta = Notification<'command/exec/outputDelta'>;

/** Notifications that are not about processes, by what they tell. */
export interface LinkListeners {
  filesChanged(changed: Notification<'files/changed'>): void;
  portsChanged(changed: Notification<'ports/changed'>): void;
  /** The connection was lost and is back: what was registered with the old connection is gone. */
  reconnected(): void;
}

export interface ExecLink {
  /** All methods. Use `attach`, `detach`, `release` and `close` below for calls that change which events arrive. */
  readonly service: ConnectionService;
  /** Calls `listener` with the output of the command with this id until disposed. */
  onOutputDelta(processId: ProcessId, listener: (delta: OutputDelta) => void): Disposable;
  /** Opens a flow for a call that names it, which must be made before anything else. */
  openFlow(): Flow;
  /** Calls the listeners until disposed. */
  listen(listeners: Partial<LinkListeners>): Disposable;
  /** The caller must close the source. */
  follow(processId: ProcessId, afterSeq: Seq): EventSource;
  /** Calls `listener` with every event of every followed process, as it arrives, until disposed. Never blocks a process. */
  watch(listener: (event: ProcessEvent) => void): Disposable;
  /** Attaches to an existing process, which may belong to another session. */
  attach(params: Params<'process/attach'>): Promise<Attached>;
  /** Detaches from the process, which keeps running. */
  detach(processId: ProcessId): Promise<void>;
  /** Makes a process outlive the session. */
  release(params: Params<'process/release'>): Promise<Result<'process/release'>>;
  /** Resolves when the link has ended for good: with the reason when it was lost, with undefined when it was closed locally. */
  readonly ended: Promise<string | undefined>;
  /** Ends the session and all its processes. */
  close(): Promise<void>;
}
