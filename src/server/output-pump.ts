// Copies one process's log to one connection, at that connection's pace. A slow connection slows only its own pumps.

import type { LogEntry, LogReader, Taken } from '../process/index.js';
import { OutputFrameHeads, OutputMessages } from '../protocol/output-frame.js';
import type { ProcessId } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import type { SendTurns } from './send-turns.js';
import { eventOf } from './session.js';

export interface PumpOptions {
  readonly processId: ProcessId;
  readonly reader: LogReader;
  readonly connection: Connection;
  readonly turns: SendTurns;
  /** Whether the peer agreed to binary frames. */
  readonly isBinary: boolean;
  /** Called after the last event has been sent. */
  readonly sentAll: () => void;
}

/** Bytes sent to a lagging peer before the pump has to wait: a screenful, and far less than a chunk. */
const creditBytes = 16 * 1024;

export class OutputPump {
  readonly reader: LogReader;
  readonly #options: PumpOptions;
  readonly #output: OutputMessages | OutputFrameHeads;
  #isStopped = false;
  #credit = creditBytes;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.reader = options.reader;
    const { processId, isBinary } = options;
    this.#output = isBinary ? new OutputFrameHeads(processId) : new OutputMessages(processId);
  }

  start(): void {
    this.#resume();
  }

  /** Stops sending. The reader stays open, because its opener owns it. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sends available entries while the peer keeps up. Called again when there are more, or when it is this pump's turn. */
  readonly #resume = (): boolean => {
    let keepsUp = true;
    while (!this.#isStopped && !this.reader.isClosed) {
      const taken = this.reader.borrow(); // sending copies the bytes immediately
      if (taken === undefined) {
        this.reader.onceChanged(this.#resume);
        break;
      }
      keepsUp = this.#send(taken);
      if (taken.entry.kind === 'closed') {
        this.#options.sentAll();
        break;
      }
      if (!this.#maySendMore(taken.entry, keepsUp)) {
        this.#options.turns.wait(this.#resume);
        break;
      }
    }
    return keepsUp;
  };

  /** The credit spares a process that writes little from waiting its turn behind processes that write a lot. */
  #maySendMore(entry: LogEntry, keepsUp: boolean): boolean {
    this.#credit = keepsUp || entry.kind !== 'chunk' ? creditBytes : this.#credit - entry.bytes.length;
    if (this.#credit > 0) return true;
    this.#credit = creditBytes;
    return false;
  }

  #send({ entry, droppedBytes }: Taken): boolean {
    const { processId, connection } = this.#options;
    if (entry.kind !== 'chunk') {
      const { type, ...params } = eventOf(processId, entry, droppedBytes);
      return connection.notify(`process/${type}`, params);
    }
    const { seq, stream, bytes: chunk } = entry;
    const output = { seq, stream, droppedBytes, chunk };
    return this.#output instanceof OutputMessages
      ? connection.channel.sendParts(this.#output.next(output))
      : connection.channel.sendBinary(this.#output.next(output), chunk);
  }
}
