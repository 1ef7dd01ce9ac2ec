// ConnectionService over a connection that may be lost and reopened. Calls and cursors outlive the connection; a call that would do harm
// if it were executed twice is not repeated.

import * as v from 'valibot';
import { deferred } from '../base/deferred.js';
import {
  type ConnectionMethod,
  type ConnectionService,
  type Params,
  type ProcessEvent,
  type ProcessId,
  type Result,
  type Seq,
  execError,
  requests,
} from '../protocol/index.js';
import { readParams } from '../protocol/read-params.js';
import { isConnectionMethod } from '../protocol/services.js';
import type { ChannelEnd } from '../rpc/channel.js';
import { ConnectionClosedError, RpcError } from '../rpc/rpc-error.js';
import type { Flow } from '../rpc/flow.js';
import type { Attached, ExecLink, LinkListeners, OutputDelta } from './exec-link.js';
import { type GreetedServer, type ServerNotification, greetServer } from './greeted-server.js';
import { type PendingCall, asRetry, isUnrepeatable, joinedBy, processIdIn, repeatableWrite, toExecError } from './remote-call.js';
import { RemoteFlows } from './remote-flows.js';
import type { RemoteOptions } from './remote-options.js';
import { RemoteSource } from './remote-source.js';
import { reconnect } from './reconnect.js';
import { addedTo } from '../base/added-to.js';

/** How long to wait for the server to terminate the session's processes: longer than it waits for a process stuck in the kernel. */
const closeMs = 10_000;

type Server = GreetedServer['server'];

export class RemoteLink implements ExecLink {
  readonly service: ConnectionService;
  readonly #options: RemoteOptions;
  readonly #sources = new Map<ProcessId, RemoteSource>();
  /** Attached processes, which every new connection has to attach to again. */
  readonly #attached = new Map<ProcessId, Params<'process/attach'>>();
  /** Processes that are being detached. */
  readonly #detaching = new Map<ProcessId, Promise<unknown>>();
  readonly #deltaListeners = new Map<ProcessId, (delta: OutputDelta) => void>();
  readonly #flows = new RemoteFlows();
  readonly #listeners = new Set<Partial<LinkListeners>>();
  readonly #watchers = new Set<(event: ProcessEvent) => void>();
  /** In the order of the calls, which is also the order in which they are repeated. */
  readonly #calls = new Set<PendingCall>();
  readonly #ended = deferred<string | undefined>();
  #connection: Server | undefined;
  #sessionId: string | undefined;
  #writes = 0;
  #hasEnded = false;
  #canReconnect = false;

  private constructor(options: RemoteOptions) {
    this.#options = options;
    const stub = (method: ConnectionMethod) => [method, async (params: unknown) => this.#call(method, params)];
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- the table meets dynamic names: one function for each of its methods
    this.service = Object.fromEntries(Object.keys(requests).filter(isConnectionMethod).map(stub));
  }

  /** Connects and sends `initialize`. */
  static async open(options: RemoteOptions): Promise<RemoteLink> {
    const link = new RemoteLink(options);
    await link.#connect();
    return link;
  }

  get sessionId(): string {
    return this.#sessionId ?? '';
  }

  /** Resolves when the link has ended for good: with the reason, or with undefined if it was closed locally. */
  get ended(): Promise<string | undefined> {
    return this.#ended.promise;
  }

  onOutputDelta(processId: ProcessId, listener: (delta: OutputDelta) => void): Disposable {
    this.#deltaListeners.set(processId, listener);
    return { [Symbol.dispose]: () => void this.#deltaListeners.delete(processId) };
  }

  openFlow(): Flow {
    return this.#flows.open();
  }

  listen(listeners: Partial<LinkListeners>): Disposable {
    return addedTo(this.#listeners, listeners);
  }

  watch(listener: (event: ProcessEvent) => void): Disposable {
    return addedTo(this.#watchers, listener);
  }

  follow(processId: ProcessId, afterSeq: Seq): RemoteSource {
    const known = this.#sources.get(processId);
    if (known !== undefined) return known;
    const source = new RemoteSource(afterSeq, {
      acknowledge: (seq) => this.#acknowledge(processId, seq),
      done: () => this.#sources.delete(processId),
    });
    this.#sources.set(processId, source);
    return source;
  }

  async attach(given: Params<'process/attach'>): Promise<Attached> {
    const params = readParams('process/attach', given);
    const { processId } = params;
    const detaching = this.#detaching.get(processId);
    if (detaching !== undefined) await detaching.catch(() => {}); // until then, events for the previous attachment may arrive
    if (this.#sources.has(processId)) throw execError('processExists', { processId });
    const afterSeq = params.afterSeq ?? 0;
    const events = this.follow(processId, afterSeq); // events may arrive together with the reply
    if (params.follow === false) events.close();
    try {
      const { process: status, afterBytes } = await this.#call('process/attach', params);
      events.beginsAfter(afterBytes);
      events.replaysUpTo(status.nextSeq - 1);
      this.#attached.set(processId, params);
      if (status.state === 'closed' && afterSeq === status.nextSeq - 1) events.close(); // there will be no events
      return { status, events };
    } catch (error) {
      this.#sources.delete(processId);
      throw error;
    }
  }

  async detach(processId: ProcessId): Promise<void> {
    this.#attached.delete(processId);
    this.#sources.get(processId)?.close();
    this.#sources.delete(processId);
    const detaching = this.#call('process/detach', { processId });
    this.#detaching.set(processId, detaching);
    await detaching.finally(() => this.#detaching.delete(processId));
  }

  async release(params: Params<'process/release'>): Promise<Result<'process/release'>> {
    const result = await this.#call('process/release', params);
    this.#sources.delete(params.processId);
    return result;
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    const isFirst = !this.#hasEnded;
    this.#end(undefined);
    // Sent first, so that no process runs when this resolves; a server that is gone has already ended its processes.
    if (isFirst) await connection?.call('session/close', {}, closeMs).catch(() => {});
    connection?.close();
    await connection?.closed;
    await this.#options.closed?.();
  }

  /** Checks the parameters before sending, because JSON silently turns some invalid values, such as NaN, into null. */
  #call<M extends ConnectionMethod>(method: M, given: unknown): Promise<Result<M>> {
    const params: unknown = readParams(method, given);
    if (this.#hasEnded) return Promise.reject(new ConnectionClosedError('the client is closed'));
    const isNewProcess = method === 'process/start' && !this.#sources.has(processIdIn(params));
    const call: PendingCall = { method, params: this.#encoded(method, params), isNewProcess, answer: deferred() };
    this.#calls.add(call);
    if (this.#connection !== undefined) this.#send(call, this.#connection);
    const answered = call.answer.promise.finally(() => this.#calls.delete(call));
    return answered.then((result) => v.parse(requests[method].result, result));
  }

  #encoded(method: ConnectionMethod, params: unknown): unknown {
    // Events may arrive together with the reply, so the queue must exist first.
    if (method === 'process/start') this.follow(processIdIn(params), 0);
    if (method !== 'process/write') return params;
    this.#writes += 1;
    // The id contains the session, because another client may write to the same process.
    return repeatableWrite(params, `${this.sessionId}-${this.#writes}`);
  }

  #send(call: PendingCall, connection: Server): void {
    connection.call(call.method, call.params).then(
      (result) => call.answer.resolve(result),
      (error: unknown) => {
        if (error instanceof RpcError) {
          if (call.isNewProcess) this.#sources.delete(processIdIn(call.params));
          return call.answer.reject(toExecError(error));
        }
        // The connection was lost: the call is repeated after reconnecting, unless that could do harm.
        if (this.#hasEnded || isUnrepeatable(call.method)) return call.answer.reject(error);
        if (call.method === 'process/start' || call.method === 'process/write') call.params = asRetry(call.params);
      },
    );
  }

  async #connect(): Promise<void> {
    const { open, clock, clientName, initializeMs, reconnectMs } = this.#options;
    const channel = await open();
    const cursors = Object.fromEntries([...this.#sources].map(([id, source]) => [id, source.received]));
    const resume = this.#sessionId === undefined ? {} : { cursors, takeover: true, flows: this.#flows.received };
    const greeting = {
      clientName,
      ...(reconnectMs > 0 ? { resumeSessionId: this.#sessionId ?? null } : {}),
      ...resume,
      capabilities: { acks: true, binaryOutput: true },
    };
    const onNotification = (notification: ServerNotification | undefined): void => this.#onNotification(notification);
    const answer = await greetServer(channel, { clock, initializeMs, greeting, onNotification });
    const { server, kind } = answer;
    this.#greeted(answer.greeted);
    this.#canReconnect = reconnectMs > 0 && kind === 'sluice';
    if (this.#hasEnded) return server.close();
    server.notify('initialized', {});
    this.#connection = server;
    for (const [processId, { acknowledged }] of this.#sources) if (acknowledged > 0) this.#acknowledge(processId, acknowledged);
    for (const [processId, params] of this.#attached) this.#reattach(processId, params, server);
    for (const call of this.#calls) this.#send(call, server);
    this.#flows.connected(answer, this.#calls);
    for (const listeners of this.#listeners) listeners.reconnected?.();
    void server.closed.then((end) => this.#onLost(end));
  }

  /** Ends the sources of forgotten processes, except attached ones, which are attached to again, and those that a pending call joins. */
  #greeted({ sessionId, forgotten = [], lastSeqs = {} }: GreetedServer['greeted']): void {
    this.#sessionId = sessionId;
    // For attached processes, the reply to attaching again has this number.
    for (const [id, source] of this.#sources)
      if (!this.#attached.has(id))
        source.replaysUpTo((Object.hasOwn(lastSeqs, id) ? lastSeqs[id] : undefined) ?? source.received);
    const joining = [...this.#calls].map(joinedBy);
    const ended = forgotten.filter((id) => !this.#attached.has(id) && !joining.includes(id));
    for (const id of ended) this.#sources.get(id)?.forget();
    for (const id of ended) this.#sources.delete(id);
  }

  /** Runs before the lost calls are repeated, which may concern this process. */
  #reattach(processId: ProcessId, params: Params<'process/attach'>, connection: Server): void {
    const source = this.#sources.get(processId);
    // Without a source, its last event was already read; attaching only restores the right to call its methods.
    const cursor = source === undefined ? { follow: false } : source.cursor;
    connection
      .call('process/attach', { ...params, ...cursor })
      .then((result) => source?.replaysUpTo(v.parse(requests['process/attach'].result, result).process.nextSeq - 1))
      .catch((error: unknown) => {
        if (!(error instanceof RpcError)) return; // lost again: the next connection retries
        this.#attached.delete(processId);
        source?.end();
      });
  }

  #onLost({ problem = 'the server closed the connection', isFinal = false }: ChannelEnd): void {
    const { reconnectMs, onState } = this.#options;
    this.#connection = undefined;
    this.#flows.table.detach();
    if (this.#hasEnded) return;
    if (isFinal || !this.#canReconnect) return this.#end(problem);
    for (const source of this.#sources.values()) source.replaysUpTo(Infinity);
    onState?.({ kind: 'lost', problem, retryMs: reconnectMs });
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    const problem = await reconnect({ ...this.#options, connect: () => this.#connect(), isClosed: () => this.#hasEnded });
    if (problem !== undefined) this.#end(problem);
    else if (!this.#hasEnded) this.#options.onState?.({ kind: 'back' });
  }

  #end(problem: string | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const error = new ConnectionClosedError(problem ?? 'the client is closed');
    for (const call of this.#calls) call.answer.reject(error);
    this.#flows.table.close(error.message);
    for (const source of this.#sources.values()) source.end();
    this.#ended.resolve(problem);
    this.#options.onState?.({ kind: 'over' });
  }

  #acknowledge(processId: ProcessId, seq: Seq): void {
    this.#connection?.notify('process/ack', { processId, seq });
  }

  #onNotification(notification: ServerNotification | undefined): void {
    switch (notification?.kind) {
      case 'event':
        if (this.#sources.get(notification.event.processId)?.push(notification.event) !== true) return;
        for (const watch of this.#watchers) watch(notification.event);
        return;
      case 'delta':
        return this.#deltaListeners.get(notification.delta.processId)?.(notification.delta);
      case 'flow':
        return notification.deliver(this.#flows.table);
      case 'other':
        return this.#listeners.forEach(notification.deliver);
      case undefined: // not asked for
    }
  }
}
