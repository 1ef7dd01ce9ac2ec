// Owns processes and the parked cursors on their logs. Knows nothing about connections; closing it ends everything it started.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.js';
import {
  type Backend,
  type ByteCounter,
  type LogEntry,
  type LogReader,
  type ManagedProcess,
  ProcessTable,
  type Sandbox,
  type TableLimits,
  signalExitCode,
} from '../process/index.js';
import {
  type EndReason,
  type Ending,
  type ProcessEvent,
  type ProcessId,
  type Result,
  type Seq,
  type SessionId,
  execError,
} from '../protocol/index.js';
import type { ExecPolicy } from './config.js';
import { SessionFlows } from './session-flows.js';
import type { Surroundings } from './start-request.js';

export interface SessionContext {
  readonly id: SessionId;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: TableLimits;
  readonly counter: ByteCounter;
  readonly policy: ExecPolicy;
  readonly surroundings: Surroundings;
  /** What the server announces to Codex's client. */
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly sandbox: Sandbox;
  /** Bytes kept of each stream for the reply to a command whose caller has disabled the cap. */
  readonly maxReplyBytes: number;
  readonly maxFlows: number;
}

/** The events of one process in order, at the reader's pace: unread events hold the process back. */
export interface EventCursor {
  /** Undefined once the cursor is closed. */
  next(): Promise<ProcessEvent | undefined>;
  /** Undefined while the process runs. */
  readonly ending: Ending | undefined;
  close(): void;
}

/** The cursor of a disconnected owner. Keeps what the owner has not received, even after the table has forgotten the process. */
export interface Parked {
  readonly target: ManagedProcess;
  readonly reader: LogReader;
}

/** Cursors closed per turn of the event loop: a session may have thousands, and closing them all at once would block other work. */
const readersPerTurn = 256;

export class Session {
  readonly id: SessionId;
  readonly clock: Clock;
  readonly processes: ProcessTable;
  readonly policy: ExecPolicy;
  readonly surroundings: Surroundings;
  readonly capabilities: SessionContext['capabilities'];
  readonly sandbox: Sandbox;
  readonly maxReplyBytes: number;
  readonly flows: SessionFlows;
  readonly #context: SessionContext;
  /** One for each connection that runs one-shot commands. */
  readonly #commandTables = new Set<ProcessTable>();
  readonly #parked = new Map<ProcessId, Parked>();
  #isClosed = false;

  constructor(context: SessionContext) {
    this.id = context.id;
    this.clock = context.clock;
    this.processes = new ProcessTable(context);
    this.policy = context.policy;
    this.surroundings = context.surroundings;
    this.capabilities = context.capabilities;
    this.sandbox = context.sandbox;
    this.maxReplyBytes = context.maxReplyBytes;
    this.flows = new SessionFlows(context.maxFlows);
    this.#context = context;
  }

  /** Opens a lossless cursor after `afterSeq`. The caller closes it. */
  follow(processId: ProcessId, afterSeq: Seq): EventCursor {
    const target = this.processes.get(processId);
    const reader = target.log.openReader(requireSeen(target, afterSeq));
    return {
      get ending() {
        return target.ending;
      },
      next: async () => (isFinalSeq(target, reader.settled.seq) ? undefined : nextEvent(processId, reader)),
      close: () => reader.close(),
    };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Keeps the cursor of a disconnected owner: what it has not acknowledged is retained and holds the process back. */
  park(parked: Parked): void {
    const { id } = parked.target;
    this.#parked.get(id)?.reader.close();
    this.#parked.set(id, parked);
  }

  /** The last sequence number so far of a process in the table or with a parked cursor; undefined for any other. */
  lastSeqOf(processId: ProcessId): Seq | undefined {
    const target = this.processes.find(processId) ?? this.#parked.get(processId)?.target;
    return target === undefined ? undefined : target.log.nextSeq - 1;
  }

  /** Returns and removes all parked cursors, because the owner has reconnected. */
  unpark(): ReadonlyMap<ProcessId, Parked> {
    const parked = new Map(this.#parked);
    this.#parked.clear();
    return parked;
  }

  /** Number of processes that have not closed yet, including one-shot commands. */
  get runningCount(): number {
    return [this.processes, ...this.#commandTables].reduce((sum, table) => sum + table.runningCount, 0);
  }

  /** A table for one connection's one-shot commands. Retains no output, because the command's caller reads it. Ends no later than the session. */
  openCommands(): ProcessTable {
    const { limits } = this.#context;
    const own = { retainedBytes: 0, headBytes: 0, maxClosed: 0, drainLimitMs: limits.drainQuietMs };
    const table = new ProcessTable({ ...this.#context, limits: { ...limits, ...own } });
    this.#commandTables.add(table);
    return table;
  }

  /** Ends the commands and waits until they are gone. */
  async closeCommands(table: ProcessTable): Promise<void> {
    await table.close('disconnected'); // commands are started without a grace period
    this.#commandTables.delete(table);
  }

  /** Ends every process, each with its own grace, and waits until all are gone. */
  async close(reason: EndReason): Promise<void> {
    this.#isClosed = true;
    this.flows.close();
    for (const [index, { reader }] of [...this.#parked.values()].entries()) {
      if (index > 0 && index % readersPerTurn === 0) await nextTurn();
      reader.close();
    }
    const tables = [this.processes, ...this.#commandTables];
    await Promise.all(tables.map((table) => table.close(reason)));
  }
}

/** Rejects a number that the process has not reached: nothing might ever follow it, or it may belong to another process with the same id. */
export function requireSeen({ log }: ManagedProcess, afterSeq: Seq): Seq {
  const lastSeq = log.nextSeq - 1;
  if (afterSeq <= lastSeq) return afterSeq;
  throw execError('invalidParams', { problem: `afterSeq must be at most ${lastSeq}, the last number so far, got ${afterSeq}` });
}

/** Whether this is the number of the process's last event. */
export function isFinalSeq({ isClosed, log }: ManagedProcess, seq: Seq): boolean {
  return isClosed && seq === log.nextSeq - 1;
}

async function nextEvent(processId: ProcessId, reader: LogReader): Promise<ProcessEvent | undefined> {
  const taken = await reader.next();
  return taken === undefined ? undefined : eventOf(processId, taken.entry, taken.droppedBytes);
}

export function eventOf(processId: ProcessId, entry: LogEntry, droppedBytes: number): ProcessEvent {
  const facts = { processId, seq: entry.seq, ...(droppedBytes === 0 ? {} : { droppedBytes }) };
  switch (entry.kind) {
    case 'chunk':
      return { type: 'output', ...facts, stream: entry.stream, chunk: entry.bytes };
    case 'exited':
      return { type: 'exited', ...facts, ...exitFacts(entry.ending), sandboxDenied: false, ending: entry.ending };
    case 'closed':
      return { type: 'closed', ...facts, ...(entry.survivors.length === 0 ? {} : { survivors: [...entry.survivors] }) };
  }
}

/** The ending in Codex's terms: 128+N for a signal, -1 for an end that was not observed. */
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

/** Reports to a resuming client which of its processes are forgotten, and the last number of each of the others. */
export function resumeFacts(ids: readonly ProcessId[], session: Session): Pick<Result<'initialize'>, 'forgotten' | 'lastSeqs'> {
  const known = ids.map((id) => ({ id, lastSeq: session.lastSeqOf(id) }));
  const forgotten = known.flatMap(({ id, lastSeq }) => (lastSeq === undefined ? [id] : []));
  const lastSeqs = known.flatMap(({ id, lastSeq }) => (lastSeq === undefined ? [] : [[id, lastSeq] as const]));
  return {
    ...(forgotten.length === 0 ? {} : { forgotten }),
    ...(lastSeqs.length === 0 ? {} : { lastSeqs: Object.fromEntries(lastSeqs) }),
  };
}
