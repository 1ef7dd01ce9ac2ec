// A connection driving a session: the handshake and the calls. Owns nothing but what it follows; the session owns the processes.

import type { Logger } from '../base/logger.js';
import type { ManagedProcess } from '../process/index.js';
import {
  type CommandMethod,
  type ExecService,
  type Method,
  type Notification,
  type Params,
  type ProcessId,
  type Result,
  asProcessId,
  execError,
  isCommandMethod,
  isMethod,
  isSessionMethod,
  protocolVersion,
} from '../protocol/index.js';
import { readNotification, readParams } from '../protocol/read-params.js';
import type { Connection, Reply } from '../rpc/connection.js';
import { Commands } from './commands.js';
import { callCommand, callService, familyOf } from './dispatch.js';
import { environmentInfo } from './environment-info.js';
import { errorBodyOf } from './error-body.js';
import { createExecService } from './exec-service.js';
import { Followings, agreementOn } from './followings.js';
import type { Metrics } from './metrics.js';
import { recordProcess } from './process-journal.js';
import { releaseProcess, requireRoom, restartProcess } from './released.js';
import { type Session, isOverAfter, requireSeen, whatBecameOf } from './session.js';
import type { Holder, Identity, SessionTable } from './session-table.js';
import { StartNotices } from './start-notices.js';
import { Waits } from './waits.js';

export interface AttachmentContext {
  readonly connection: Connection;
  readonly identity: Identity;
  readonly onGreeted: () => void;
  readonly sessions: SessionTable;
  /** Running processes over all sessions of one caller. */
  readonly maxProcessesPerCaller: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** A process of another session that this connection follows. */
interface Guest {
  /** Not kept for the guest's sake: a process that its owner has forgotten, and its output, are gone for all. */
  readonly target: WeakRef<ManagedProcess>;
  readonly role: 'watch' | 'drive';
}

/** The session this connection drives. */
interface Driving {
  readonly session: Session;
  readonly service: ExecService;
  readonly followings: Followings;
  readonly notices: StartNotices;
  /** Made when the first one is run. */
  readonly commands: { current: Commands | undefined };
}

type State =
  | { readonly kind: 'new' }
  | ({ readonly kind: 'greeted' | 'ready' } & Driving)
  /** Its session went to another connection, or its own has ended. */
  | { readonly kind: 'over' };

/** What a watcher may ask for. */
const watcherMethods: ReadonlySet<string> = new Set(['process/read', 'process/wait', 'process/snapshot']);

export class Attachment implements Holder {
  readonly #context: AttachmentContext;
  readonly #guests = new Map<ProcessId, Guest>();
  readonly #waits: Waits;
  #state: State = { kind: 'new' };

  constructor(context: AttachmentContext) {
    this.#context = context;
    const { connection } = context;
    this.#waits = new Waits(context.sessions.clock);
    connection.serve({
      request: (method, params) => this.#onRequest(method, params),
      notification: (method, params) => this.#onNotification(method, params),
      binary: () => connection.close('binary frames go from server to client only'),
      errorBody: (error) => errorBodyOf(error, context),
    });
    void connection.closed.then(() => this.#onClosed());
  }

  fence(): void {
    this.#end();
    this.#context.connection.close('session has been resumed by another connection');
  }

  async #onRequest(method: string, params: unknown): Promise<Reply> {
    this.#context.metrics.requested(method);
    if (!isMethod(method)) throw execError('methodNotFound', { method });
    if (method === 'initialize') return this.#initialize(readParams(method, params));
    const driving = this.#requireReady(method);
    if (method === 'session/close') return this.#closeSession(driving);
    if (method === 'process/attach') return this.#attach(driving, readParams(method, params));
    if (method === 'process/detach') return this.#detach(driving, readParams(method, params));
    if (method === 'process/release') return this.#release(driving, readParams(method, params));
    if (method === 'process/restart') return this.#restart(driving, readParams(method, params));
    if (isCommandMethod(method)) return { result: await this.#command(driving, method, params) };
    if (!isSessionMethod(method)) throw execError('methodNotFound', { method });
    if (method === 'process/start') {
      const start = readParams(method, params);
      return driving.notices.watched(start.processId, this.#start(driving, start));
    }
    if (method === 'process/list') return this.#list(driving, readParams(method, params));
    const read = readParams(method, params);
    return { result: await callService(this.#serviceFor(driving, method, read), method, read) };
  }

  #onNotification(method: string, params: unknown): void {
    this.#context.metrics.requested(method);
    const state = this.#state;
    const isDriving = state.kind === 'greeted' || state.kind === 'ready';
    if (method === 'initialized' && isDriving) this.#state = { ...state, kind: 'ready' };
    else if (method === 'process/ack' && state.kind === 'ready') {
      const { processId, seq } = readNotification(method, params);
      state.followings.acknowledge(processId, seq);
    } else throw execError('strayNotification', { method });
  }

  #initialize(params: Params<'initialize'>): Reply {
    if (this.#state.kind !== 'new') throw execError('alreadyInitialized', {});
    const { connection, identity, sessions } = this.#context;
    const { resumeSessionId, takeover, cursors } = params;
    const agreement = agreementOn(params.capabilities);
    const isResumed = typeof resumeSessionId === 'string';
    const session = isResumed
      ? sessions.resume(resumeSessionId, identity, { holder: this, takeover: takeover === true })
      : sessions.open(identity, { isResumable: resumeSessionId === null, holder: this });
    const followings = new Followings(connection, session, agreement);
    this.#state = {
      kind: 'greeted',
      session,
      service: createExecService(session, this.#waits),
      followings,
      notices: new StartNotices(connection, agreement),
      commands: { current: undefined },
    };
    this.#context.onGreeted();
    const result: Result<'initialize'> = {
      protocolVersion,
      sessionId: session.id,
      environmentInfo: environmentInfo(session.surroundings),
      capabilities: { ...agreement },
      ...(isResumed ? whatBecameOf(Object.keys(cursors ?? {}).map(asProcessId), session) : {}),
    };
    return isResumed ? { result, afterReply: () => followings.goOn(cursors ?? {}) } : { result };
  }

  async #closeSession({ session, followings }: Driving): Promise<Reply> {
    followings.end();
    await this.#context.sessions.end(session);
    return { result: {} };
  }

  async #start({ session, service, followings, notices }: Driving, params: Params<'process/start'>): Promise<Reply> {
    const { processId } = params;
    if (this.#guests.has(processId)) throw execError('processExists', { processId });
    const isKnown = session.processes.find(processId) !== undefined;
    const forgotten = params.retry === true && !isKnown ? followings.findOwn(processId) : undefined;
    if (forgotten !== undefined) return { result: { processId, sandboxType: 'none', pid: forgotten.pid } };
    if (!isKnown) requireRoom(this.#context);
    const begunAt = performance.now();
    const starting = callService(service, 'process/start', params);
    const started = isKnown ? undefined : session.processes.find(processId);
    // Before the first await, because the connection may be gone after it.
    const sendEvents = started && followings.follow(started, followings.openOwn(started, 0), { isOwn: true });
    const result = await starting;
    if (started === undefined || sendEvents === undefined) return { result }; // sent again; its events are on their way already
    this.#context.metrics.spawned((performance.now() - begunAt) / 1000);
    recordProcess(started, started.request.program, this.#context);
    return { result, afterReply: notices.before(sendEvents, started) };
  }

  #command({ session, commands }: Driving, method: CommandMethod, params: unknown): Promise<unknown> {
    if (method === 'command/exec') requireRoom(this.#context);
    commands.current ??= new Commands(
      session,
      (delta) => this.#tellOutput(delta),
      (started, program) => recordProcess(started, program, this.#context),
    );
    return callCommand(commands.current.service, method, readParams(method, params));
  }

  async #tellOutput(delta: Notification<'command/exec/outputDelta'>): Promise<void> {
    const { connection } = this.#context;
    if (!connection.notify('command/exec/outputDelta', delta)) await connection.channel.drained();
  }

  #attach({ session, followings }: Driving, params: Params<'process/attach'>): Reply {
    const { processId } = params;
    const role = params.role ?? 'watch';
    const owner = this.#sessionFor(session, params.sessionId ?? session.id);
    const target = owner.processes.get(processId);
    const isOwn = owner === session;
    if (!isOwn && session.processes.find(processId) !== undefined) throw execError('processExists', { processId });
    const cursor = requireSeen(target, params.afterSeq ?? 0);
    if (!isOwn) this.#addGuest(processId, { target: new WeakRef(target), role });
    const afterBytes = target.log.bytesUpTo(cursor, params.afterBytes ?? undefined);
    const result: Result<'process/attach'> = { process: target.status(), role, afterBytes };
    if (params.follow === false || isOverAfter(target, cursor)) return { result };
    const reader = isOwn ? followings.openOwn(target, cursor, afterBytes) : target.log.openViewer(cursor, afterBytes);
    return { result, afterReply: followings.follow(target, reader, { isOwn }) };
  }

  #addGuest(processId: ProcessId, guest: Guest): void {
    for (const [id, { target }] of this.#guests) if (target.deref() === undefined) this.#guests.delete(id);
    this.#guests.set(processId, guest);
  }

  #detach({ followings }: Driving, { processId }: Params<'process/detach'>): Reply {
    followings.drop(processId);
    this.#guests.delete(processId);
    return { result: {} };
  }

  #release({ session, followings }: Driving, params: Params<'process/release'>): Reply {
    const result = releaseProcess(session, params, this.#context);
    followings.drop(params.processId);
    return { result };
  }

  async #restart({ session }: Driving, params: Params<'process/restart'>): Promise<Reply> {
    const owner = this.#sessionFor(session, params.sessionId ?? session.id);
    return { result: await restartProcess(owner, params, this.#context) };
  }

  async #list({ service }: Driving, params: Params<'process/list'>): Promise<Reply> {
    if (params?.scope !== 'all') return { result: await callService(service, 'process/list', params) };
    const { sessions, identity } = this.#context;
    const processes = sessions
      .visibleTo(identity)
      .flatMap(({ id, processes: table }) => table.list().map((each) => ({ ...each.status(), sessionId: id })));
    return { result: { processes } };
  }

  /** Whose process a call is about: this session's, or a followed one's when the role allows the call. */
  #serviceFor({ service }: Driving, method: string, params: { readonly processId?: ProcessId } | null | undefined): ExecService {
    const processId = params?.processId;
    const guest = processId === undefined ? undefined : this.#guests.get(processId);
    if (processId === undefined || guest === undefined) return service;
    if (guest.role === 'watch' && !watcherMethods.has(method)) throw execError('watchOnly', { processId, method });
    const target = guest.target.deref();
    // Looked up each time: the process may have been released since.
    const owner = this.#context.sessions
      .visibleTo(this.#context.identity)
      .find(({ processes }) => processes.find(processId) === target);
    if (target === undefined || owner === undefined) throw execError('processNotFound', { processId });
    return createExecService(owner, this.#waits);
  }

  #sessionFor(own: Session, id: string): Session {
    const found = id === own.id ? own : this.#context.sessions.find(id, this.#context.identity);
    if (found === undefined) throw execError('sessionNotFound', { sessionId: id });
    return found;
  }

  #requireReady(method: Method): Driving {
    const family = familyOf(method);
    switch (this.#state.kind) {
      case 'ready':
        return this.#state;
      case 'greeted':
        throw execError('notReady', { family });
      case 'new':
      case 'over':
        throw execError('notInitialized', { family });
    }
  }

  #onClosed(): void {
    const state = this.#state;
    this.#end();
    if (state.kind === 'greeted' || state.kind === 'ready') this.#context.sessions.release(state.session, this);
  }

  #end(): void {
    this.#waits.end();
    if (this.#state.kind === 'greeted' || this.#state.kind === 'ready') {
      this.#state.followings.end();
      void this.#state.commands.current?.close();
    }
    this.#state = { kind: 'over' };
  }
}
