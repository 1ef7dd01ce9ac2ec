// The processes one connection follows: a pump for each, and what becomes of its cursor when the connection ends.

import type { LogReader, ManagedProcess } from '../process/index.js';
import type { Params, ProcessId, Seq } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import { OutputPump } from './output-pump.js';
import { SendTurns } from './send-turns.js';
import type { Session } from './session.js';

/** What the client said it can do. */
export interface Agreement {
  readonly acks: boolean;
  readonly binaryOutput: boolean;
  readonly startEvents: boolean;
}

export function agreementOn(offered: Params<'initialize'>['capabilities']): Agreement {
  const { acks, binaryOutput, startEvents } = offered ?? {};
  return { acks: acks === true, binaryOutput: binaryOutput === true, startEvents: startEvents === true };
}

interface Following {
  /** Kept here as well, because the table forgets a process some time after its end. */
  readonly target: ManagedProcess;
  readonly pump: OutputPump;
  /** The session's own process, whose cursor waits when the client is away; not one that is merely watched. */
  readonly isOwn: boolean;
}

export class Followings {
  readonly #connection: Connection;
  readonly #session: Session;
  readonly #agreement: Agreement;
  readonly #turns: SendTurns;
  readonly #followings = new Map<ProcessId, Following>();
  #isOver = false;

  constructor(connection: Connection, session: Session, agreement: Agreement) {
    this.#connection = connection;
    this.#turns = new SendTurns(connection.channel);
    this.#session = session;
    this.#agreement = agreement;
  }

  /** A cursor that the process waits for, and that counts as read when the client takes or acknowledges. */
  openOwn({ log }: ManagedProcess, afterSeq: Seq, afterBytes?: number): LogReader {
    return log.openReader(afterSeq, this.#agreement.acks ? 'acknowledged' : 'taken', afterBytes);
  }

  /** A process of the session's own whose end the client has yet to confirm; also one that the table has forgotten. */
  findOwn(processId: ProcessId): ManagedProcess | undefined {
    const following = this.#followings.get(processId);
    return following?.isOwn === true ? following.target : undefined;
  }

  /**
   * Owns the reader from here on, so that it waits for the client also when the connection ends before anything was sent; sends
   * what it takes once the returned function is called.
   */
  follow(target: ManagedProcess, reader: LogReader, { isOwn }: { readonly isOwn: boolean }): () => void {
    const processId = target.id;
    this.drop(processId);
    const pump = new OutputPump({
      processId,
      reader,
      connection: this.#connection,
      turns: this.#turns,
      isBinary: this.#agreement.binaryOutput,
      // With acknowledgements the end counts only once it has arrived.
      sentAll: () => (isOwn && this.#agreement.acks ? undefined : this.drop(processId)),
    });
    this.#followings.set(processId, { target, pump, isOwn });
    return () => pump.start();
  }

  /** Every process of a resumed session goes on where the client stopped; without a cursor, from now on. */
  goOn(cursors: Readonly<Record<string, Seq>>): void {
    if (this.#isOver) return; // the cursors stay where they wait for the next connection
    const { processes } = this.#session;
    const parked = this.#session.unpark();
    // An id may be the name of something every object has.
    const cursorOf = (id: ProcessId) => (Object.hasOwn(cursors, id) ? cursors[id] : undefined);
    for (const { target, reader } of parked.values()) {
      if (processes.find(target.id) === target) continue;
      const cursor = cursorOf(target.id);
      // Forgotten while the client was away, but not what it has yet to be told. Without a cursor it has been told everything.
      if (cursor === undefined) reader.close();
      else this.#resume(target, reader, cursor);
    }
    for (const target of processes.list()) {
      const cursor = cursorOf(target.id);
      const waiting = parked.get(target.id);
      const reader = waiting?.target === target ? waiting.reader : this.openOwn(target, cursor ?? target.log.nextSeq - 1);
      this.#resume(target, reader, cursor);
    }
  }

  acknowledge(processId: ProcessId, seq: Seq): void {
    const following = this.#followings.get(processId);
    if (following === undefined) return;
    const { target, pump } = following;
    pump.reader.acknowledge(seq);
    // The very last event has arrived: there is nothing left to keep.
    if (target.isClosed && pump.reader.settled.seq === target.log.nextSeq - 1) this.drop(processId);
  }

  drop(processId: ProcessId): void {
    const following = this.#followings.get(processId);
    this.#followings.delete(processId);
    following?.pump.stop();
    following?.pump.reader.close();
  }

  /** Stops all pumps. What an acknowledging client has not confirmed waits for it in the session. */
  end(): void {
    this.#isOver = true;
    for (const { target, pump, isOwn } of this.#followings.values()) {
      pump.stop();
      if (isOwn && this.#agreement.acks) this.#session.park({ target, reader: pump.reader });
      else pump.reader.close();
    }
    this.#followings.clear();
  }

  #resume(target: ManagedProcess, reader: LogReader, cursor: Seq | undefined): void {
    if (cursor !== undefined) reader.rewind(cursor);
    this.follow(target, reader, { isOwn: true })();
  }
}
