// One client connection: performs the handshake, then forwards every call to the attachment that `initialize` created.

import type { Logger } from '../base/logger.js';
import {
  type Method,
  type Notification,
  type Notifications,
  type Params,
  type Result,
  asProcessId,
  decodeFlowFrame,
  execError,
  isMethod,
  protocolVersion,
} from '../protocol/index.js';
import { readNotification, readParams } from '../protocol/read-params.js';
import { type ClientNotification, isClientNotification } from '../protocol/services.js';
import type { Connection, Reply } from '../rpc/connection.js';
import { Attachment } from './attachment.js';
import { ConnectionFlows } from './connection-flows.js';
import { environmentInfo } from './environment-info.js';
import { errorBodyOf } from './error-body.js';
import type { Notify } from './machine/call-group.js';
import type { Machine } from './machine/machine.js';
import type { Metrics } from './metrics.js';
import { recordProcess } from './process-journal.js';
import { PumpSet, agreementOn } from './pump-set.js';
import { SendTurns } from './send-turns.js';
import { type Session, resumeFacts } from './session.js';
import type { Holder, Identity, SessionTable } from './session-table.js';

export interface ServedContext {
  readonly connection: Connection;
  readonly identity: Identity;
  readonly onGreeted: () => void;
  readonly sessions: SessionTable;
  readonly machine: Machine;
  readonly maxProcessesPerCaller: number;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Typed so that a client notification in the table without a handler does not compile. */
type NotificationHandlers = { readonly [N in ClientNotification]: (params: unknown) => void };

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
      binary: (frame) => this.#onBinary(frame),
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
    else if (isClientNotification(method) && state.kind === 'ready') state.notified[method](params);
    else throw execError('strayNotification', { method });
  }

  #initialize(params: Params<'initialize'>): Reply {
    if (this.#state.kind !== 'new') throw execError('alreadyInitialized', {});
    const { connection, identity, sessions, machine, maxProcessesPerCaller, metrics } = this.#context;
    const { resumeSessionId, takeover, cursors, flows: received } = params;
    const agreement = agreementOn(params.capabilities);
    const isResumed = typeof resumeSessionId === 'string';
    const session = isResumed
      ? sessions.resume(resumeSessionId, identity, { holder: this, takeover: takeover === true })
      : sessions.open(identity, { isResumable: resumeSessionId === null, holder: this });
    const turns = new SendTurns(connection.channel);
    const pumps = new PumpSet(connection, session, { agreement, turns });
    const flows = new ConnectionFlows({ connection, turns, agreement });
    const attachment = new Attachment({
      session,
      sessions,
      identity,
      maxProcessesPerCaller,
      delivery: pumps,
      machine,
      notify: notifyOver(connection),
      metrics,
      onStarted: (started, program) => recordProcess(started, program, this.#context),
    });
    const { table } = session.flows;
    const notified: NotificationHandlers = {
      'process/ack': reading('process/ack', (ack) => pumps.acknowledge(ack)),
      'flow/data': reading('flow/data', ({ flowId, offset, chunk }) => void table.data(flowId, offset, chunk)),
      'flow/ack': reading('flow/ack', ({ flowId, offset }) => table.acknowledge(flowId, offset)),
      'flow/end': reading('flow/end', ({ flowId, offset }) => table.end(flowId, offset)),
      'flow/reset': reading('flow/reset', ({ flowId, problem }) => table.reset(flowId, problem)),
    };
    this.#state = { kind: 'greeted', session, attachment, notified };
    this.#context.onGreeted();
    const result: Result<'initialize'> = {
      protocolVersion,
      sessionId: session.id,
      environmentInfo: environmentInfo(session),
      capabilities: { ...agreement },
      ...(isResumed ? resumeFacts(Object.keys(cursors ?? {}).map(asProcessId), session) : {}),
      ...(received === undefined || received === null ? {} : { flows: flowFacts(received, session) }),
    };
    const afterReply = () => {
      if (this.#state.kind === 'ended') return;
      session.flows.attach(flows, new Map(Object.entries(received ?? {}).map(([id, bytes]) => [Number(id), bytes])));
      if (isResumed) pumps.resumeAll(cursors ?? {});
    };
    return { result, afterReply };
  }

  #onBinary(frame: Uint8Array): void {
    const state = this.#state;
    const data = decodeFlowFrame(frame);
    if (state.kind !== 'ready' || data === undefined) return this.#context.connection.close('this binary frame is not of a flow');
    state.session.flows.table.data(data.flowId, data.offset, data.chunk);
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
    if (this.#state.kind === 'greeted' || this.#state.kind === 'ready') {
      this.#state.attachment.end();
      this.#state.session.flows.detach();
    }
    this.#state = { kind: 'ended' };
  }
}

/** Reads the parameters of a notification by its name in the table. */
function reading<N extends ClientNotification>(name: N, act: (params: Notification<N>) => void): (params: unknown) => void {
  return (params) => act(readNotification(name, params));
}

function notifyOver(connection: Connection): Notify {
  const sender =
    <N extends keyof Notifications>(name: N) =>
    async (params: Notification<N>): Promise<void> => {
      if (!connection.notify(name, params)) await connection.channel.drained();
    };
  return {
    outputDelta: sender('command/exec/outputDelta'),
    filesChanged: sender('files/changed'),
    portsChanged: sender('ports/changed'),
    missingChanged: sender('fs/missingChanged'),
    bodyDelta: sender('http/request/bodyDelta'),
    nothing: () => connection.channel.drained(),
  };
}

/** How much the server has received of each of these flows, without those that have ended. */
function flowFacts(asked: Readonly<Record<string, number>>, { flows }: Session): Record<string, number> {
  const known = flows.table.receivedBytes();
  return Object.fromEntries([...known].flatMap(([id, bytes]) => (Object.hasOwn(asked, id) ? [[String(id), bytes]] : [])));
}

/** Codex's names for groups of methods in its error texts. */
function familyOf(method: Method): string {
  if (method === 'environment/info') return 'environment info';
  return method === 'environment/status' ? 'environment status' : 'exec';
}
