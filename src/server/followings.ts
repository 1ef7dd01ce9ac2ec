// The processes one connection follows: a pump for each, and what becomes of its cursor when the connection ends.

import type { LogReader } from '../process/index.js';
import type { ProcessId, Seq } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import { OutputPump } from './output-pump.js';
import { SendTurns } from './send-turns.js';
import type { Session } from './session.js';

/** What the client said it can do. */
export interface Agreement {
  readonly acks: boolean;
  readonly binaryOutput: boolean;
}

interface Following {
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
  openOwn(processId: ProcessId, afterSeq: Seq): LogReader {
    return this.#session.processes.get(processId).log.openReader(afterSeq, this.#agreement.acks ? 'acknowledged' : 'taken');
  }

  /** Sends what the reader takes from here on. Owns the reader. */
  follow(processId: ProcessId, reader: LogReader, { isOwn }: { readonly isOwn: boolean }): void {
    if (this.#isOver) return reader.close();
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
    this.#followings.set(processId, { pump, isOwn });
    pump.start();
  }

  /** Every process of a resumed session goes on where the client stopped; without a cursor, from now on. */
  goOn(cursors: Readonly<Record<string, Seq>>): void {
    for (const { id, log } of this.#session.processes.list()) {
      const cursor = Object.hasOwn(cursors, id) ? cursors[id] : undefined; // an id may be the name of something every object has
      const reader = this.#session.unpark(id) ?? this.openOwn(id, cursor ?? log.nextSeq - 1);
      if (cursor !== undefined) reader.rewind(cursor);
      this.follow(id, reader, { isOwn: true });
    }
  }

  acknowledge(processId: ProcessId, seq: Seq): void {
    const reader = this.#followings.get(processId)?.pump.reader;
    reader?.acknowledge(seq);
    const target = this.#session.processes.find(processId);
    // The very last event has arrived: there is nothing left to keep.
    if (target?.isClosed === true && reader?.settled.seq === target.log.nextSeq - 1) this.drop(processId);
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
    for (const [processId, { pump, isOwn }] of this.#followings) {
      pump.stop();
      if (isOwn && this.#agreement.acks) this.#session.park(processId, pump.reader);
      else pump.reader.close();
    }
    this.#followings.clear();
  }
}
