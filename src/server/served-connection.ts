// One client connection: performs the handshake, then forwards every call to the attachment that `initialize` created.

import type { Logger } from '../base/logger.js';
import {
  type Method,
  type Notification,
  type Params,
  type Result,
  asProcessId,
  execError,
  isMethod,
  protocolVersion,
} from '../protocol/index.js';
import { readNotification, readParams } from '../protocol/read-params.js';
import { type ClientNotification, isClientNotification } from '../protocol/services.js';
import type { Connection, Reply } from '../rpc/connection.js';
import { Attachment } from './attachment.js';
import { environmentInfo } from './environment-info.js';
import { errorBodyOf } from './error-body.js';
import type { Metrics } from './metrics.js';
import { recordProcess } from './process-journal.js';
import { PumpSet, agreementOn } from './pump-set.js';
import { type Session, resumeFacts } from './session.js';
import type { Holder, Identity, SessionTable } from './session-table.js';

export interface ServedContext {
  readonly connection: Connection;
  readonly identity: Identity;
  readonly onGreeted: () => void;
  readonly sessions: SessionTable;
  readonly maxProcessesPerCaller: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Typed so that a client notification in the table without a handler does not compile. */
type NotificationHandlers = { readonly [N in ClientNotification]: (params: Notification<N>) => void };

type State =
  | { readonly kind: 'new' }
  | {
      readonly kind: 'greeted' | 'ready';
      readonly session: Session;
      readonly attachment: Attachment;
      readonly notified: NotificationHandlers;
    }
  /** Another connection took over the session, or this connection has closed. */
  | { readonly kind: 'ended' };

export class ServedConnection implements Holder {
  readonly #context: ServedContext;
  #state: State = { kind: 'new' };

  constructor(context: ServedContext) {
    this.#context = context;
    const { connection } = context;
    connection.serve({
      request: (method, params) => this.#onRequest(method, params),
      notification: (method, params) => this.#onNotification(method, params),
      binary: () => connection.close('only the server may send binary frames'),
      errorBody: (error) => errorBodyOf(error, context),
    });
    void connection.closed.then(() => this.#onClosed());
  }

  takenOver(): void {
    this.#end();
    this.#context.connection.close('session has been resumed by another connection');
  }

  async #onRequest(method: string, params: unknown): Promise<Reply> {
    this.#context.metrics.requested(method);
    if (!isMethod(method)) throw execError('methodNotFound', { method });
    if (method === 'initialize') return this.#initialize(readParams(method, params));
    return this.#requireReady(method).call(method, params);
  }

  #onNotification(method: string, params: unknown): void {
    this.#context.metrics.requested(method);
    const state = this.#state;
    const isGreeted = state.kind === 'greeted' || state.kind === 'ready';
    if (method === 'initialized' && isGreeted) this.#state = { ...state, kind: 'ready' };
    else if (isClientNotification(method) && state.kind === 'ready') state.notified[method](readNotification(method, params));
    else throw execError('strayNotification', { method });
  }

  #initialize(params: Params<'initialize'>): Reply {
    if (this.#state.kind !== 'new') throw execError('alreadyInitialized', {});
    const { connection, identity, sessions, maxProcessesPerCaller, metrics } = this.#context;
    const { resumeSessionId, takeover, cursors } = params;
    const agreement = agreementOn(params.capabilities);
    const isResumed = typeof resumeSessionId === 'string';
    const session = isResumed
      ? sessions.resume(resumeSessionId, identity, { holder: this, takeover: takeover === true })
      : sessions.open(identity, { isResumable: resumeSessionId === null, holder: this });
    const pumps = new PumpSet(connection, session, agreement);
    const attachment = new Attachment({
      session,
      sessions,
      identity,
      maxProcessesPerCaller,
      delivery: pumps,
      tellOutput: (delta) => this.#tellOutput(delta),
      metrics,
      onStarted: (started, program) => recordProcess(started, program, this.#context),
    });
    this.#state = { kind: 'greeted', session, attachment, notified: { 'process/ack': (ack) => pumps.acknowledge(ack) } };
    this.#context.onGreeted();
    const result: Result<'initialize'> = {
      protocolVersion,
      sessionId: session.id,
      environmentInfo: environmentInfo(session.surroundings),
      capabilities: { ...agreement },
      ...(isResumed ? resumeFacts(Object.keys(cursors ?? {}).map(asProcessId), session) : {}),
    };
    return isResumed ? { result, afterReply: () => pumps.resumeAll(cursors ?? {}) } : { result };
  }

  async #tellOutput(delta: Notification<'command/exec/outputDelta'>): Promise<void> {
    const { connection } = this.#context;
    if (!connection.notify('command/exec/outputDelta', delta)) await connection.channel.drained();
  }

  #requireReady(method: Method): Attachment {
    const family = familyOf(method);
    switch (this.#state.kind) {
      case 'ready':
        return this.#state.attachment;
      case 'greeted':
        throw execError('notReady', { family });
      case 'new':
      case 'ended':
        throw execError('notInitialized', { family });
    }
  }

  #onClosed(): void {
    const state = this.#state;
    this.#end();
    if (state.kind === 'greeted' || state.kind === 'ready') this.#context.sessions.release(state.session, this);
  }

  #end(): void {
    if (this.#state.kind === 'greeted' || this.#state.kind === 'ready') this.#state.attachment.end();
    this.#state = { kind: 'ended' };
  }
}

/** Codex's names for groups of methods in its error texts. */
function familyOf(method: Method): string {
  if (method === 'environment/info') return 'environment info';
  return method === 'environment/status' ? 'environment status' : 'exec';
}
