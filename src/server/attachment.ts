// The one way in: everything that can be asked by a caller that has a session, over a connection or from this program. Owns nothing but
// what its caller has under way; the session owns the processes.

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
import { type CommandStarted, Commands, type TellOutput } from './commands.js';
import { createExecService, startProcess } from './exec-service.js';
import type { Metrics } from './metrics.js';
import { releaseProcess, requireRoom, restartProcess } from './released.js';
import { type Session, isOverAfter, requireSeen } from './session.js';
import type { Identity, SessionTable } from './session-table.js';
import { Waits } from './waits.js';

/** How the events of processes reach the caller. */
export interface Delivery {
  /** A process that the caller has started. Its events go out once the returned function is called. */
  started(target: ManagedProcess): () => void;
  startFailed(processId: ProcessId, error: unknown): void;
  /** A process that the caller has attached to: of its own session, which then waits for it, or of another one. */
  attached(target: ManagedProcess, from: { readonly seq: number; readonly bytes: number; readonly isOwn: boolean }): () => void;
  /** A process of the caller's own session whose end it has yet to confirm; also one that the session has forgotten. */
  findUnconfirmed(processId: ProcessId): ManagedProcess | undefined;
  drop(processId: ProcessId): void;
  end(): void;
}

export interface AttachmentContext {
  readonly session: Session;
  readonly sessions: SessionTable;
  readonly identity: Identity;
  /** Running processes over all sessions of one caller. */
  readonly maxProcessesPerCaller: number;
  readonly delivery: Delivery;
  readonly tellOutput: TellOutput;
  readonly metrics: Metrics;
  /** Called with every process that was started, one-shot commands too. */
  readonly onStarted: CommandStarted;
}

/** Has something done once the reply is on its way. */
type AfterReply = (act: () => void) => void;

/** A method of the table without a handler here does not compile. */
type Handlers = {
  readonly [M in ConnectionMethod]: (params: Params<M>, afterReply: AfterReply) => Promise<Result<M>>;
};

/** A process of another session that this caller has attached to. */
interface Guest {
  /** Not kept for the guest's sake: a process that its owner has forgotten, and its output, are gone for all. */
  readonly target: WeakRef<ManagedProcess>;
  readonly role: 'watch' | 'drive';
}

/** What a watcher may ask for. */
const watcherMethods: ReadonlySet<ConnectionMethod> = new Set(['process/read', 'process/wait', 'process/snapshot']);

export class Attachment {
  readonly #context: AttachmentContext;
  readonly #guests = new Map<ProcessId, Guest>();
  readonly #waits: Waits;
  readonly #commands: Commands;
  readonly #handlers: Handlers;

  constructor(context: AttachmentContext) {
    const { session, sessions, delivery } = context;
    const waits = new Waits(session.clock);
    const commands = new Commands(session, context.tellOutput, context.onStarted);
    const service = createExecService(session, waits);
    this.#context = context;
    this.#waits = waits;
    this.#commands = commands;
    this.#handlers = {
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

  /** Reads the parameters and calls the handler before it returns, so that calls keep their order. */
  async call<M extends ConnectionMethod>(method: M, given: unknown): Promise<Reply<Result<M>>> {
    const params = readParams(method, given);
    let afterReply: (() => void) | undefined;
    const result = await this.#handlersFor(method, params)[method](params, (act) => (afterReply = act));
    return { result, afterReply };
  }

  /** For a caller in this program. Its parameters are read as if they had come over a wire, and refused with the same errors. */
  get service(): ConnectionService {
    const callOf = (method: ConnectionMethod) => [
      method,
      async (params: unknown) => {
        const { result, afterReply } = await this.call(method, params);
        afterReply?.();
        return result;
      },
    ];
    // oxlint-disable-next-line typescript/no-unsafe-return -- the table meets dynamic names: one function for each of its methods
    return Object.fromEntries(Object.keys(requests).filter(isConnectionMethod).map(callOf));
  }

  /** The caller has gone: ends what it waits for and the commands it runs. */
  end(): void {
    this.#waits.end();
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
    if (params.follow !== false && !isOverAfter(target, seq)) afterReply(delivery.attached(target, { seq, bytes, isOwn }));
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

  /** Those of the session that owns the process, when the call is about a guest and the role allows it. */
  #handlersFor(method: ConnectionMethod, params: object | null | undefined): Handlers {
    // A start is about a process that does not exist yet.
    const isAboutProcess = isSessionMethod(method) && method !== 'process/start';
    const processId = isAboutProcess ? processIdIn(params) : undefined;
    const guest = processId === undefined ? undefined : this.#guests.get(processId);
    if (processId === undefined || guest === undefined) return this.#handlers;
    if (guest.role === 'watch' && !watcherMethods.has(method)) throw execError('watchOnly', { processId, method });
    const target = guest.target.deref();
    const { sessions, identity } = this.#context;
    // Looked up each time: the process may have been released since.
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
