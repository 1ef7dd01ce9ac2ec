// Owns the backend and the sessions on it. Disposing it ends every process of every session.

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../base/clock.js';
import { type Backend, type BackendName, type TableLimits, createBackend } from '../process/index.js';
import { asSessionId, execError } from '../protocol/index.js';
import { type ExecPolicy, defaultLimits, defaultPolicy } from './config.js';
import { Session } from './session.js';
import type { Surroundings } from './start-request.js';

export interface ServerOptions {
  /** Limits that differ from `defaultLimits`. */
  readonly limits?: Partial<TableLimits>;
  readonly policy?: Partial<ExecPolicy>;
  /** `auto` when absent. */
  readonly backend?: BackendName;
  readonly clock?: Clock;
  /** What commands start from when they name no folder, and what environment policies inherit from; this program's own when absent. */
  readonly surroundings?: Surroundings;
}

export class Server implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly clock: Clock;
  readonly #backend: Backend;
  readonly #sessions = new Set<Session>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions = {}) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.#backend = createBackend(options.backend ?? 'auto', this.clock);
  }

  /** Which of the two ways of spawning is in use. */
  get backend(): Backend['name'] {
    return this.#backend.name;
  }

  openSession(): Session {
    const { limits, policy, surroundings } = this.#options;
    const id = asSessionId(randomUUID());
    if (this.#closing !== undefined) throw execError('sessionClosed', { sessionId: id });
    const session = new Session({
      id,
      backend: this.#backend,
      clock: this.clock,
      limits: { ...defaultLimits, ...limits },
      policy: { ...defaultPolicy, ...policy },
      surroundings: surroundings ?? { cwd: process.cwd(), env: process.env },
    });
    this.#sessions.add(session);
    return session;
  }

  /** Resolves when every process is gone. Closing twice is fine. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close('disconnected')));
    await this.#backend.close();
  }
}
