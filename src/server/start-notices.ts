// Tells a connection how its starts went, when it has asked to be told.

import { type Notification, type ProcessId, isExecError } from '../protocol/index.js';
import type { Connection } from '../rpc/connection.js';

export class StartNotices {
  readonly #connection: Connection;
  readonly #isAsked: boolean;

  constructor(connection: Connection, { startEvents }: { readonly startEvents: boolean }) {
    this.#connection = connection;
    this.#isAsked = startEvents;
  }

  /** What is to be done once the reply is on its way: the start is told before anything else of the process. */
  before(sendEvents: () => void, { id, pid }: { readonly id: ProcessId; readonly pid: number }): () => void {
    if (!this.#isAsked) return sendEvents;
    return () => {
      this.#connection.notify('process/started', { processId: id, pid } satisfies Notification<'process/started'>);
      sendEvents();
    };
  }

  /** The result as it is; a failure is told before it is answered. */
  async watched<T>(processId: ProcessId, starting: Promise<T>): Promise<T> {
    if (!this.#isAsked) return starting;
    try {
      return await starting;
    } catch (error) {
      this.#failed(processId, error);
      throw error;
    }
  }

  #failed(processId: ProcessId, error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    const failure = isExecError(error, 'spawnFailed') ? { failure: error.data.failure } : {};
    this.#connection.notify('process/failed', { processId, problem, ...failure } satisfies Notification<'process/failed'>);
  }
}
