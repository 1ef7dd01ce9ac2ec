// The single entry point for calls on a session, whether they arrive over a connection or from this program. Owns only the caller's
// pending waits and one-shot commands; the session owns the processes.

import type { ManagedProcess } from '../process/index.js';
import {
  type ConnectionMethod,
  type ConnectionService,
  type Params,
  type ProcessId,
  type Result,
  asProcessId,
  execError,
  isSessionMethod,
  requests,
} from '../protocol/index.js';
import { readParams } from '../protocol/read-params.js';
import { isConnectionMethod } from '../protocol/services.js';
import type { Reply } from '../rpc/connection.js';
import { type CommandStarted, Commands } from './commands.js';
import { createExecService, startProcess } from './exec-service.js';
import type { AfterReply, Notify } from './machine/call-group.js';
import type { Machine } from './machine/machine.js';
import { MachineCalls } from './machine/machine-calls.js';
import type { Metrics } from './metrics.js';
import { releaseProcess, requireRoom, restartProcess } from './released.js';
import { type Session, isFinalSeq, requireSeen } from './session.js';
import type { Identity, SessionTable } from './session-table.js';
import { Waits } from './waits.js';

/** How process events reach the caller. */
export interface Delivery {
  /** The caller has started this process. Its events are sent once the returned function is called. */
  started(target: ManagedProcess): () => void;
  startFailed(processId: ProcessId, error: unknown): void;
  /** The caller has attached to this process. A process of its own session waits for it to read; one of another session does not. */
  attached(target: ManagedProcess, from: { readonly seq: number; readonly bytes: number; readonly isOwn: boolean }): () => void;
  /** A process of the caller's own session whose end it has not acknowledged yet, even if the session has already forgotten it. */
  findUnconfirmed(processId: ProcessId): ManagedProcess | undefined;
  drop(processId: ProcessId): void;
  end(): void;
}

export interface AttachmentContext {
  readonly session: Session;
  readonly sessions: SessionTable;
  readonly identity: Identity;
  /** Limit on running processes across all sessions of one caller. */
  readonly maxProcessesPerCaller: number;
  readonly delivery: Delivery;
  readonly machine: Machine;
  readonly notify: Notify;
  readonly metrics: Metrics;
  /** Called with every process that is started, including one-shot commands. */
  readonly onStarted: CommandStarted;
}

/** Typed so that a method in the table without a handler here does not compile. */
type Handlers = {
  readonly [M in ConnectionMethod]: (params: Params<M>, afterReply: AfterReply) => Promise<Result<M>>;
};

/** A process of another session that this caller has attached to. */
interface Guest {
  /** Weak, so that a guest does not keep a process and its output alive after the owner has forgotten it. */
  readonly target: WeakRef<ManagedProcess>;
  readonly role: 'watch' | 'drive';
}

/** Methods that the `watch` role may call. */
const watcherMethods: ReadonlySet<ConnectionMethod> = new Set(['process/read', 'process/wait', 'process/snapshot']);

export class Attachment {
  readonly #context: AttachmentContext;
  readonly #guests = new Map<ProcessId, Guest>();
  readonly #waits: Waits;
  readonly #commands: Commands;
  readonly #machineCalls: MachineCalls;
  readonly #handlers: Handlers;

  constructor(context: AttachmentContext) {
    const { session, sessions, delivery } = context;
    const waits = new Waits(session.clock);
    const commands = new Commands(session, (delta) => context.notify.outputDelta(delta), context.onStarted);
    const machineCalls = new MachineCalls(context);
    const service = createExecService(session, waits);
    this.#context = context;
    this.#waits = waits;
    this.#commands = commands;
    this.#machineCalls = machineCalls;
    this.#handlers = {
      ...machineCalls.handlers,
      ...service,
      ...commands.service,
      'process/start': async (params, afterReply) => this.#start(params, afterReply),
      'process/list': async (params) => (params?.scope === 'all' ? this.#listAll() : service['process/list'](params)),
      'process/attach': async (params, afterReply) => this.#attach(params, afterReply),
      'process/detach': async ({ processId }) => {
        delivery.drop(processId);
        this.#guests.delete(processId);
        return {};
      },
      'process/release': async (params) => {
        const result = releaseProcess(params, context);
        delivery.drop(params.processId);
        return result;
      },
      'process/restart': async (params) => restartProcess(this.#sessionFor(params.sessionId), params, context),
      'session/close': async () => {
        delivery.end();
        await sessions.end(session);
        return {};
      },
      'command/exec': async (params) => {
        requireRoom(context);
        return commands.service['command/exec'](params);
      },
    };
  }

  /** Reads the parameters and calls the handler synchronously, so that calls keep their order. */
  async call<M extends ConnectionMethod>(method: M, given: unknown): Promise<Reply<Result<M>>> {
    const params = readParams(method, given);
    let afterReply: (() => void) | undefined;
    const result = await this.#handlersFor(method, params)[method](params, (act) => (afterReply = act));
    return { result, afterReply };
  }

  /** For a caller in this program. Its parameters are validated as on the wire and rejected with the same errors. */
  get service(): ConnectionService {
    const callOf = (method: ConnectionMethod) => [
      method,
      async (params: unknown) => {
        const { result, afterReply } = await this.call(method, params);
        afterReply?.();
        return result;
      },
    ];
    // oxlint-disable-next-line typescript/no-unsafe-return -- keyed by dynamic names: one function per method in the table
    return Object.fromEntries(Object.keys(requests).filter(isConnectionMethod).map(callOf));
  }

  /** The caller has disconnected: ends its pending waits and its one-shot commands, and closes its files. */
  end(): void {
    this.#waits.end();
    this.#machineCalls.end();
    this.#context.delivery.end();
    void this.#commands.close();
  }

  async #start(params: Params<'process/start'>, afterReply: AfterReply): Promise<Result<'process/start'>> {
    const { session, delivery, metrics, onStarted } = this.#context;
    const { processId } = params;
    try {
      if (this.#guests.has(processId)) throw execError('processExists', { processId });
      const begunAt = performance.now();
      const kept = delivery.findUnconfirmed(processId);
      const room = () => requireRoom(this.#context);
      const { process: started, isNew } = startProcess(session, params, { kept, requireRoom: room });
      if (isNew) {
        afterReply(delivery.started(started));
        metrics.spawned((performance.now() - begunAt) / 1000);
        onStarted(started, started.request.program);
      }
      return { processId, sandboxType: 'none', pid: started.pid };
    } catch (error) {
      delivery.startFailed(processId, error);
      throw error;
    }
  }

  #attach(params: Params<'process/attach'>, afterReply: AfterReply): Result<'process/attach'> {
    const { session, delivery } = this.#context;
    const { processId } = params;
    const role = params.role ?? 'watch';
    const owner = this.#sessionFor(params.sessionId);
    const target = owner.processes.get(processId);
    const isOwn = owner === session;
    if (!isOwn && session.processes.find(processId) !== undefined) throw execError('processExists', { processId });
    const seq = requireSeen(target, params.afterSeq ?? 0);
    if (!isOwn) this.#addGuest(processId, { target: new WeakRef(target), role });
    const bytes = target.log.bytesUpTo(seq, params.afterBytes ?? undefined);
    if (params.follow !== false && !isFinalSeq(target, seq)) afterReply(delivery.attached(target, { seq, bytes, isOwn }));
    return { process: target.status(), role, afterBytes: bytes };
  }

  #addGuest(processId: ProcessId, guest: Guest): void {
    for (const [id, { target }] of this.#guests) if (target.deref() === undefined) this.#guests.delete(id);
    this.#guests.set(processId, guest);
  }

  #listAll(): Result<'process/list'> {
    const { sessions, identity } = this.#context;
    const processes = sessions
      .visibleTo(identity)
      .flatMap(({ id, processes: table }) => table.list().map((each) => ({ ...each.status(), sessionId: id })));
    return { processes };
  }

  /** For a guest process, the handlers of the session that owns it, provided that the role allows the method. */
  #handlersFor(method: ConnectionMethod, params: object | null | undefined): Handlers {
    // process/start names a process that does not exist yet.
    const isAboutProcess = isSessionMethod(method) && method !== 'process/start';
    const processId = isAboutProcess ? processIdIn(params) : undefined;
    const guest = processId === undefined ? undefined : this.#guests.get(processId);
    if (processId === undefined || guest === undefined) return this.#handlers;
    if (guest.role === 'watch' && !watcherMethods.has(method)) throw execError('watchOnly', { processId, method });
    const target = guest.target.deref();
    const { sessions, identity } = this.#context;
    // Looked up on every call, because the process may have been released to another session since.
    const owner = sessions.visibleTo(identity).find(({ processes }) => processes.find(processId) === target);
    if (target === undefined || owner === undefined) throw execError('processNotFound', { processId });
    return { ...this.#handlers, ...createExecService(owner, this.#waits) };
  }

  #sessionFor(id: string | null | undefined): Session {
    const { session, sessions, identity } = this.#context;
    const found = id === undefined || id === null || id === session.id ? session : sessions.find(id, identity);
    if (found === undefined) throw execError('sessionNotFound', { sessionId: id ?? session.id });
    return found;
  }
}

function processIdIn(params: object | null | undefined): ProcessId | undefined {
  if (params === null || params === undefined || !('processId' in params)) return undefined;
  return typeof params.processId === 'string' ? asProcessId(params.processId) : undefined;
}
