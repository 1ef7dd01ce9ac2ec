// Copies one process's log to one connection, at that connection's pace. A slow connection slows only its own pumps.

import type { LogEntry, LogReader, Taken } from '../process/index.js';
import { OutputFrameHeads, type ProcessId } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import type { SendTurns } from './send-turns.js';
import { eventOf } from './session.js';

export interface PumpOptions {
  readonly processId: ProcessId;
  readonly reader: LogReader;
  readonly connection: Connection;
  readonly turns: SendTurns;
  /** The peer agreed to binary frames. */
  readonly isBinary: boolean;
  /** Called after the last event was sent. */
  readonly sentAll: () => void;
}

/** Sent to a peer that lags before the pump has to wait: a screenful, and far less than a chunk. */
const creditBytes = 16 * 1024;

export class OutputPump {
  readonly reader: LogReader;
  readonly #options: PumpOptions;
  /** The process id as JSON, made once: it is in every message. */
  readonly #idText: string;
  /** When the peer takes binary frames. */
  readonly #frameHeads: OutputFrameHeads | undefined;
  #isStopped = false;
  #credit = creditBytes;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.reader = options.reader;
    this.#idText = JSON.stringify(options.processId);
    this.#frameHeads = options.isBinary ? new OutputFrameHeads(options.processId) : undefined;
  }

  start(): void {
    this.#goOn();
  }

  /** Sends no more. The reader stays open: it belongs to whoever opened it. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sends what there is, as far as the peer keeps up. Called again when there is more, or when it is this pump's turn. */
  readonly #goOn = (): boolean => {
    let keepsUp = true;
    while (!this.#isStopped && !this.reader.isClosed) {
      const taken = this.reader.borrow(); // what is sent is copied at once
      if (taken === undefined) {
        this.reader.onceChanged(this.#goOn);
        break;
      }
      keepsUp = this.#send(taken);
      if (taken.entry.kind === 'closed') {
        this.#options.sentAll();
        break;
      }
      if (!this.#mayGoOn(taken.entry, keepsUp)) {
        this.#options.turns.wait(this.#goOn);
        break;
      }
    }
    return keepsUp;
  };

  /** A process that writes little need not wait its turn behind those that write much. */
  #mayGoOn(entry: LogEntry, keepsUp: boolean): boolean {
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
    const { seq, stream, bytes } = entry;
    if (this.#frameHeads !== undefined)
      return connection.channel.sendBinary(this.#frameHeads.next({ seq, stream, droppedBytes }), bytes);
    const dropped = droppedBytes === 0 ? '' : `,"droppedBytes":${droppedBytes}`;
    const head = `{"method":"process/output","params":{"processId":${this.#idText},"seq":${seq},"stream":"${stream}"${dropped},"chunk":"`;
    return connection.channel.sendParts([head, bytes, '"}}']);
  }
}
