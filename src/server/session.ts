// Owner of processes, and of cursors on their logs. Knows nothing of connections; closing it ends everything it started.

import type { Clock } from '../base/clock.js';
import { type Backend, type LogEntry, type LogReader, ProcessTable, type TableLimits, signalExitCode } from '../process/index.js';
import type { EndReason, Ending, ProcessEvent, ProcessId, Seq, SessionId } from '../protocol/index.js';
import type { ExecPolicy } from './config.js';
import type { Surroundings } from './start-request.js';

export interface SessionContext {
  readonly id: SessionId;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: TableLimits;
  readonly policy: ExecPolicy;
  readonly surroundings: Surroundings;
}

/** The events of one process in order, at the taker's pace: what is not taken holds the process back. */
export interface EventCursor {
  /** Undefined once the cursor is closed. */
  next(): Promise<ProcessEvent | undefined>;
  close(): void;
}

export class Session {
  readonly id: SessionId;
  readonly clock: Clock;
  readonly processes: ProcessTable;
  readonly policy: ExecPolicy;
  readonly surroundings: Surroundings;
  #isClosed = false;

  constructor(context: SessionContext) {
    this.id = context.id;
    this.clock = context.clock;
    this.processes = new ProcessTable(context);
    this.policy = context.policy;
    this.surroundings = context.surroundings;
  }

  /** Opens a lossless cursor after `afterSeq`. Whoever opens it closes it. */
  follow(processId: ProcessId, afterSeq: Seq): EventCursor {
    const reader = this.processes.get(processId).log.openReader(afterSeq);
    return {
      next: async () => nextEvent(processId, reader),
      close: () => reader.close(),
    };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends every process and waits until all are gone. */
  async close(reason: EndReason): Promise<void> {
    this.#isClosed = true;
    await this.processes.close(reason);
  }
}

async function nextEvent(processId: ProcessId, reader: LogReader): Promise<ProcessEvent | undefined> {
  const taken = await reader.next();
  return taken === undefined ? undefined : eventOf(processId, taken.entry, taken.droppedBytes);
}

function eventOf(processId: ProcessId, entry: LogEntry, droppedBytes: number): ProcessEvent {
  const { seq } = entry;
  switch (entry.kind) {
    case 'chunk': {
      const dropped = droppedBytes === 0 ? {} : { droppedBytes };
      return { type: 'output', processId, seq, stream: entry.stream, chunk: entry.bytes, ...dropped };
    }
    case 'exited':
      return { type: 'exited', processId, seq, ...exitFacts(entry.ending), sandboxDenied: false, ending: entry.ending };
    case 'closed':
      return { type: 'closed', processId, seq, ...(entry.survivors.length === 0 ? {} : { survivors: [...entry.survivors] }) };
  }
}

/** The ending in Codex's words: 128+N for a signal, -1 for an end nobody saw. */
export function exitFacts(ending: Ending): { exitCode: number; signal?: string } {
  switch (ending.kind) {
    case 'code':
      return { exitCode: ending.code };
    case 'signal':
      return { exitCode: signalExitCode(ending.signal), signal: ending.signal };
    case 'lost':
      return { exitCode: -1 };
  }
}
