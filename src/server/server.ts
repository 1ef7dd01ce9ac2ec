// Owns the backend and all sessions. Disposing it ends every process of every session.

import { type Clock, systemClock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import { type Logger, silentLogger } from '../base/logger.js';
import {
  type Backend,
  type BackendName,
  type BackendOptions,
  LazyBackend,
  type ProgramSettings,
  Sandbox,
  createBackend,
} from '../process/index.js';
import { type ConnectionService, execError } from '../protocol/index.js';
import type { Channel } from '../rpc/channel.js';
import { Connection } from '../rpc/connection.js';
import { type StreamPair, channelOver } from '../transport/stream-pair.js';
import { Attachment, type Delivery } from './attachment.js';
import { type ExecPolicy, type ServerLimits, confinedPolicy, defaultLimits, defaultPolicy } from './config.js';
import { announcedCapabilities } from './announced-capabilities.js';
import type { Notify } from './machine/call-group.js';
import { type FilePolicy, Machine, type NetworkPolicy } from './machine/machine.js';
import { type Gauges, type Metrics, silentMetrics } from './metrics.js';
import { ServedConnection } from './served-connection.js';
import { Session } from './session.js';
import { type Identity, SessionTable, anybody } from './session-table.js';
import type { Surroundings } from './start-request.js';

export interface ServerOptions extends ProgramSettings {
  /** Overrides of `defaultLimits`. */
  readonly limits?: Partial<ServerLimits>;
  readonly policy?: Partial<ExecPolicy>;
  /** Which files callers may reach; all of them when absent. */
  readonly files?: FilePolicy;
  /** Which addresses callers may reach; HTTP to loopback when absent. */
  readonly network?: NetworkPolicy;
  /** `auto` when absent. A backend passed as an object is closed with the server. */
  readonly backend?: BackendName | Backend;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  readonly logger?: Logger;
  /** Default working directory of commands, and the environment that policies inherit from; this program's own when absent. */
  readonly surroundings?: Surroundings;
  /** Paths that sandboxed commands and forwarded connections must not be able to reach, such as the server's own sockets. */
  readonly hiddenPaths?: readonly string[];
  /** Whether any program on this machine can connect over TCP without a credential; sandboxed commands then get no network access. */
  readonly isOpenOnNetwork?: boolean;
}

export class Server implements AsyncDisposable {
  readonly clock: Clock;
  readonly limits: ServerLimits;
  readonly sessions: SessionTable;
  readonly #machine: Machine;
  readonly #backend: Backend;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #connections = new Set<Connection>();
  readonly #closed = deferred<undefined>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions = {}) {
    const clock = options.clock ?? systemClock;
    const limits = { ...defaultLimits, ...options.limits };
    const logger = options.logger ?? silentLogger;
    const { backend: chosen = 'auto', orphans, malloc, ignoredSignals } = options;
    const settings = { clock, orphans, malloc, ignoredSignals };
    const backend = typeof chosen === 'object' ? chosen : lazyBackend(chosen, settings, logger);
    const policy = options.files?.roots === undefined ? { ...defaultPolicy, ...options.policy } : confinedPolicy;
    const surroundings = options.surroundings ?? { cwd: process.cwd(), env: process.env };
    const sharesNetwork = options.isOpenOnNetwork === true ? 'never' : 'onRequest';
    const sandbox = new Sandbox({ env: surroundings.env, hidden: options.hiddenPaths ?? [], sharesNetwork, clock });
    this.clock = clock;
    this.limits = limits;
    const { files = {}, network = {}, hiddenPaths = [] } = options;
    this.#machine = new Machine({ files, network, limits, clock, ownSockets: hiddenPaths });
    this.#backend = backend;
    this.#metrics = options.metrics ?? silentMetrics;
    this.#logger = logger;
    const counter = this.#metrics;
    const capabilities = announcedCapabilities(this.#machine);
    this.sessions = new SessionTable({
      clock,
      limits,
      createSession: (id, changed) => {
        const { maxReplyBytes, maxFlows } = limits;
        return new Session({
          id,
          backend,
          clock,
          limits: { ...limits, ...changed },
          counter,
          policy,
          surroundings,
          capabilities,
          sandbox,
          maxReplyBytes,
          maxFlows,
        });
      },
    });
  }

  /** The name of the backend in use. */
  get backend(): Backend['name'] {
    return this.#backend.name;
  }

  /** Opens a session without a connection, for clients in this program. */
  openSession(): Session {
    if (this.#closing !== undefined) throw execError('sessionClosed', { sessionId: '' });
    return this.sessions.open(anybody, { isResumable: false, holder: undefined });
  }

  /**
   * The methods of a session for a client in this program. `notify` and `delivery` replace a connection; the service ends with the session.
   */
  serviceOf(session: Session, { delivery, notify }: { readonly delivery: Delivery; readonly notify: Notify }): ConnectionService {
    const { maxProcessesPerCaller } = this.limits;
    const caller = { session, sessions: this.sessions, identity: anybody, maxProcessesPerCaller, machine: this.#machine };
    return new Attachment({ ...caller, delivery, notify, metrics: silentMetrics, onStarted: () => {} }).service;
  }

  /** Opens the roots that callers are confined to. Without this, the first caller learns that one is missing. */
  async openRoots(): Promise<void> {
    if (this.#machine.files.roots !== undefined) await this.#machine.shared();
  }

  /** Serves a client over a channel or streams until they end. `onGreeted` is called when it has opened or resumed a session. */
  accept(target: Channel | StreamPair, identity: Identity = anybody, onGreeted: () => void = () => {}): void {
    const channel = channelOver(target, { maxMessageBytes: this.limits.maxMessageBytes, clock: this.clock });
    if (this.#closing !== undefined) return channel.close('the server is shutting down', 'goodbye');
    const connection = new Connection(channel, this.limits, this.clock);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    this.#logger.info('client connected', { peer: channel.peer, subject: identity.subject });
    void connection.closed.then(({ problem }) => this.#logger.info('client gone', { peer: channel.peer, problem }));
    // Kept alive by its connection, which refers to it.
    void new ServedConnection({
      connection,
      identity,
      onGreeted,
      sessions: this.sessions,
      machine: this.#machine,
      maxProcessesPerCaller: this.limits.maxProcessesPerCaller,
      metrics: this.#metrics,
      logger: this.#logger,
    });
  }

  /** Returns unused malloc pages to the system. Takes milliseconds and affects the whole program, so it is for dedicated server programs. */
  returnFreePages(): void {
    this.#backend.returnFreePages?.();
  }

  /** Current values for the metrics. */
  gauges(): Gauges {
    const processes = () => this.sessions.all().flatMap((session) => session.processes.list());
    return {
      connections: () => this.#connections.size,
      sessions: () => this.sessions.size,
      processes: () => {
        const counts = { running: 0, exited: 0, closed: 0 };
        for (const each of processes()) counts[each.state] += 1;
        return counts;
      },
      flows: () => this.sessions.all().reduce((sum, { flows }) => sum + flows.table.size, 0),
      flowBytes: () => this.sessions.all().reduce((sum, { flows }) => sum + flows.table.heldBytes, 0),
      fileHandles: () => this.#machine.openHandles,
      fileWatches: () => this.#machine.openWatches,
      retainedBytes: () => processes().reduce((sum, each) => sum + each.log.retainedBytes, 0),
      stdinQueuedBytes: () => processes().reduce((sum, each) => sum + each.stdinQueuedBytes, 0),
      sendQueuedBytes: () => [...this.#connections].reduce((sum, { channel }) => sum + channel.queuedBytes, 0),
    };
  }

  /** Accepts no more connections, ends every process with its own grace (at most `maxCloseGraceMs`), and closes. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Resolves once closed. */
  get closed(): Promise<undefined> {
    return this.#closed.promise;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.sessions.close();
    for (const connection of this.#connections) connection.close('the server is shutting down', 'goodbye');
    await Promise.all([this.#backend.close(), this.#machine.close()]);
    this.#closed.resolve(undefined);
  }
}

function lazyBackend(name: BackendName, options: BackendOptions, logger: Logger): LazyBackend {
  const backend = new LazyBackend(() => {
    const made = createBackend(name, options);
    logger.info('ready to spawn', { backend: made.name });
    return made;
  });
  if (name !== 'auto') backend.make(); // an explicitly chosen backend that is unavailable fails immediately
  return backend;
}
