// Copies one process's log to one connection, at that connection's pace. A slow connection slows only its own pumps.

import type { LogReader, Taken } from '../process/index.js';
import { type ProcessId, encodeBase64, encodeOutputFrame } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';
import { eventOf } from './session.js';

export interface PumpOptions {
  readonly processId: ProcessId;
  readonly reader: LogReader;
  readonly connection: Connection;
  /** The peer agreed to binary frames. */
  readonly isBinary: boolean;
  /** Called after the last event was sent. */
  readonly sentAll: () => void;
}

export class OutputPump {
  readonly reader: LogReader;
  readonly #options: PumpOptions;
  /** The process id as JSON, made once: it is in every message. */
  readonly #idText: string;
  #isStopped = false;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.reader = options.reader;
    this.#idText = JSON.stringify(options.processId);
  }

  start(): void {
    void this.#run();
  }

  /** Sends no more. The reader stays open: it belongs to whoever opened it. */
  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    const { channel } = this.#options.connection;
    while (!this.#isStopped && !this.reader.isClosed) {
      const taken = this.reader.take();
      if (taken === undefined) {
        // Not `next`: a pump that is stopped here must leave the entry to the one that comes after it.
        await this.reader.changed();
        continue;
      }
      const keepsUp = this.#send(taken);
      if (taken.entry.kind === 'closed') return this.#options.sentAll();
      if (!keepsUp) await channel.drained();
    }
  }

  #send({ entry, droppedBytes }: Taken): boolean {
    const { processId, connection, isBinary } = this.#options;
    if (entry.kind !== 'chunk') {
      const { type, ...params } = eventOf(processId, entry, droppedBytes);
      return connection.notify(`process/${type}`, params);
    }
    const { seq, stream, bytes } = entry;
    if (isBinary) {
      return connection.channel.sendBinary(encodeOutputFrame({ processId, seq, stream, chunk: bytes, droppedBytes }));
    }
    // Built by hand: JSON.stringify would look at every character of the base64, ten times the cost of making it.
    const dropped = droppedBytes === 0 ? '' : `,"droppedBytes":${droppedBytes}`;
    const params = `"processId":${this.#idText},"seq":${seq},"stream":"${stream}","chunk":"${encodeBase64(bytes)}"${dropped}`;
    return connection.channel.send(`{"method":"process/output","params":{${params}}}`);
  }
}
