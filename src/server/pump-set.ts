// The processes whose events are sent to one connection: one pump each. Parks or closes their cursors when the connection ends.

import type { LogReader, ManagedProcess } from '../process/index.js';
import { type Notification, type Params, type ProcessId, type Seq, isExecError } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import type { Delivery } from './attachment.js';
import { OutputPump } from './output-pump.js';
import type { SendTurns } from './send-turns.js';
import type { Session } from './session.js';

/** The capabilities both sides agreed on. */
export interface Agreement {
  readonly acks: boolean;
  readonly binaryOutput: boolean;
  readonly startEvents: boolean;
}

export function agreementOn(offered: Params<'initialize'>['capabilities']): Agreement {
  const { acks, binaryOutput, startEvents } = offered ?? {};
  return { acks: acks === true, binaryOutput: binaryOutput === true, startEvents: startEvents === true };
}

interface Pumped {
  /** Kept here as well, because the table forgets a process some time after it has ended. */
  readonly target: ManagedProcess;
  readonly pump: OutputPump;
  /** Whether the process belongs to the session, so that its cursor is parked while the client is away; false for a watched one. */
  readonly isOwn: boolean;
}

export class PumpSet implements Delivery {
  readonly #connection: Connection;
  readonly #session: Session;
  readonly #agreement: Agreement;
  readonly #turns: SendTurns;
  readonly #pumped = new Map<ProcessId, Pumped>();
  #isEnded = false;

  constructor(
    connection: Connection,
    session: Session,
    { agreement, turns }: { readonly agreement: Agreement; readonly turns: SendTurns },
  ) {
    this.#connection = connection;
    this.#turns = turns;
    this.#session = session;
    this.#agreement = agreement;
  }

  started(target: ManagedProcess): () => void {
    const start = this.#add(target, this.#openOwn(target, 0), { isOwn: true });
    if (!this.#agreement.startEvents) return start;
    return () => {
      const { id: processId, pid } = target;
      this.#connection.notify('process/started', { processId, pid } satisfies Notification<'process/started'>);
      start();
    };
  }

  startFailed(processId: ProcessId, error: unknown): void {
    if (!this.#agreement.startEvents) return;
    const problem = error instanceof Error ? error.message : String(error);
    const failure = isExecError(error, 'spawnFailed') ? { failure: error.data.failure } : {};
    this.#connection.notify('process/failed', { processId, problem, ...failure } satisfies Notification<'process/failed'>);
  }

  attached(target: ManagedProcess, { seq, bytes, isOwn }: Parameters<Delivery['attached']>[1]): () => void {
    const reader = isOwn ? this.#openOwn(target, seq, bytes) : target.log.openViewer(seq, bytes);
    return this.#add(target, reader, { isOwn });
  }

  findUnconfirmed(processId: ProcessId): ManagedProcess | undefined {
    const pumped = this.#pumped.get(processId);
    return pumped?.isOwn === true ? pumped.target : undefined;
  }

  /** Resumes every process of a resumed session after the client's cursor; without a cursor, from now on. */
  resumeAll(cursors: Readonly<Record<string, Seq>>): void {
    if (this.#isEnded) return; // the cursors stay parked for the next connection
    const { processes } = this.#session;
    const parked = this.#session.unpark();
    // A process id may equal the name of an inherited property, such as `toString`.
    const cursorOf = (id: ProcessId) => (Object.hasOwn(cursors, id) ? cursors[id] : undefined);
    for (const { target, reader } of parked.values()) {
      if (processes.find(target.id) === target) continue;
      const cursor = cursorOf(target.id);
      // Forgotten while the client was away, but the client has not received the rest. Without a cursor it has received everything.
      if (cursor === undefined) reader.close();
      else this.#resume(target, reader, cursor);
    }
    for (const target of processes.list()) {
      const cursor = cursorOf(target.id);
      const waiting = parked.get(target.id);
      const reader = waiting?.target === target ? waiting.reader : this.#openOwn(target, cursor ?? target.log.nextSeq - 1);
      this.#resume(target, reader, cursor);
    }
  }

  acknowledge({ processId, seq }: Notification<'process/ack'>): void {
    const pumped = this.#pumped.get(processId);
    if (pumped === undefined) return;
    const { target, pump } = pumped;
    pump.reader.acknowledge(seq);
    // The client has acknowledged the last event, so nothing is left to keep.
    if (target.isClosed && pump.reader.settled.seq === target.log.nextSeq - 1) this.drop(processId);
  }

  drop(processId: ProcessId): void {
    const pumped = this.#pumped.get(processId);
    this.#pumped.delete(processId);
    pumped?.pump.stop();
    pumped?.pump.reader.close();
  }

  /** Stops all pumps. For a client that acknowledges, the session keeps what it has not acknowledged. */
  end(): void {
    this.#isEnded = true;
    for (const { target, pump, isOwn } of this.#pumped.values()) {
      pump.stop();
      if (isOwn && this.#agreement.acks) this.#session.park({ target, reader: pump.reader });
      else pump.reader.close();
    }
    this.#pumped.clear();
  }

  /** A cursor that holds the process back; it advances when the client acknowledges or, without acks, when entries are sent. */
  #openOwn({ log }: ManagedProcess, afterSeq: Seq, afterBytes?: number): LogReader {
    return log.openReader(afterSeq, this.#agreement.acks ? 'acknowledged' : 'taken', afterBytes);
  }

  /**
   * Takes ownership of the reader, so that it is parked for the client even if the connection ends before anything was sent. Sending
   * starts when the returned function is called.
   */
  #add(target: ManagedProcess, reader: LogReader, { isOwn }: { readonly isOwn: boolean }): () => void {
    const processId = target.id;
    this.drop(processId);
    const pump = new OutputPump({
      processId,
      reader,
      connection: this.#connection,
      turns: this.#turns,
      isBinary: this.#agreement.binaryOutput,
      // With acks, the process is done only once the client has acknowledged the last event.
      sentAll: () => (isOwn && this.#agreement.acks ? undefined : this.drop(processId)),
    });
    this.#pumped.set(processId, { target, pump, isOwn });
    return () => pump.start();
  }

  #resume(target: ManagedProcess, reader: LogReader, cursor: Seq | undefined): void {
    if (cursor !== undefined) reader.rewind(cursor);
    this.#add(target, reader, { isOwn: true })();
  }
}
