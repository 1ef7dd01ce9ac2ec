// ExecService over a connection that may be lost and found again. Calls and cursors outlive the connection; what cannot be
// sent twice without harm is not sent twice.

import * as v from 'valibot';
import type { Clock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import {
  type CommandService,
  type ExecService,
  type Params,
  type ProcessEvent,
  type ProcessId,
  type Result,
  type Seq,
  execError,
  isCommandMethod,
  isSessionMethod,
  requests,
} from '../protocol/index.js';
import type { Channel, ChannelEnd } from '../rpc/channel.js';
import { ConnectionClosedError, RpcError } from '../rpc/rpc-error.js';
import type { Attached, ExecLink, OutputDelta } from './exec-link.js';
import { type GreetedServer, greetServer } from './greeted-server.js';
import {
  type CallMethod,
  type PendingCall,
  isUnrepeatable,
  joinedBy,
  processIdIn,
  repeatableWrite,
  sentAgain,
} from './remote-call.js';
import { RemoteSource } from './remote-source.js';
import { type ConnectionState, comeBack } from './reconnect.js';
import type { Told } from './remote-told.js';
import { toExecError } from './remote-error.js';

export interface RemoteOptions {
  readonly clientName: string;
  readonly clock: Clock;
  /** Patience for the answer to `initialize`. */
  readonly initializeMs: number;
  /** How long to try to come back after a lost connection; 0 for channels that cannot be opened again. */
  readonly reconnectMs: number;
  /** Opens a channel to the same server. */
  readonly open: () => Promise<Channel>;
  /** Whether a failure to open proves that the server, and with it the session, is no more. */
  readonly isGone?: (error: unknown) => boolean;
  readonly onState?: (state: ConnectionState) => void;
  /** What closing the link waits for at last. */
  readonly closed?: () => Promise<unknown>;
}

/** Patience for a server that ends the session's processes: longer than it takes to give up on a process stuck in the kernel. */
const closeMs = 10_000;

type Server = GreetedServer['server'];

export class RemoteLink implements ExecLink {
  readonly service: ExecService;
  readonly commands: CommandService;
  readonly #options: RemoteOptions;
  readonly #sources = new Map<ProcessId, RemoteSource>();
  /** Processes of other sessions, to be joined again by every new connection. */
  readonly #guests = new Map<ProcessId, Params<'process/attach'>>();
  /** Processes that are being left. */
  readonly #leaving = new Map<ProcessId, Promise<unknown>>();
  readonly #deltaListeners = new Map<ProcessId, (delta: OutputDelta) => void>();
  readonly #watchers = new Set<(event: ProcessEvent) => void>();
  /** In the order they were made, which is the order they are sent in again. */
  readonly #calls = new Set<PendingCall>();
  readonly #ended = deferred<string | undefined>();
  #connection: Server | undefined;
  #sessionId: string | undefined;
  #writes = 0;
  #isOver = false;
  #canComeBack = false;

  private constructor(options: RemoteOptions) {
    this.#options = options;
    const stub = (method: CallMethod) => [method, (params: object | null | undefined) => this.#call(method, params)];
    const methods = Object.keys(requests);
    // oxlint-disable typescript/no-unsafe-assignment -- the table meets dynamic names: one function for each of its methods
    this.service = Object.fromEntries(methods.filter(isSessionMethod).map(stub));
    this.commands = Object.fromEntries(methods.filter(isCommandMethod).map(stub));
    // oxlint-enable typescript/no-unsafe-assignment
  }

  /** Connects and greets. */
  static async open(options: RemoteOptions): Promise<RemoteLink> {
    const link = new RemoteLink(options);
    await link.#connect();
    return link;
  }

  get sessionId(): string {
    return this.#sessionId ?? '';
  }

  /** Resolves when the link is over for good; with why, unless it was closed from here. */
  get ended(): Promise<string | undefined> {
    return this.#ended.promise;
  }

  onOutputDelta(processId: ProcessId, listener: (delta: OutputDelta) => void): Disposable {
    this.#deltaListeners.set(processId, listener);
    return { [Symbol.dispose]: () => void this.#deltaListeners.delete(processId) };
  }

  watch(listener: (event: ProcessEvent) => void): Disposable {
    this.#watchers.add(listener);
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
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

  async attach(params: Params<'process/attach'>): Promise<Attached> {
    const { processId } = params;
    const leaving = this.#leaving.get(processId);
    if (leaving !== undefined) await leaving.catch(() => {}); // until then events may come that were meant for the one before
    if (this.#sources.has(processId)) throw execError('processExists', { processId });
    const afterSeq = params.afterSeq ?? 0;
    const events = this.follow(processId, afterSeq); // its events may come together with the reply
    if (params.follow === false) events.close();
    try {
      const { process: status, afterBytes } = await this.#call('process/attach', params);
      events.beginsAfter(afterBytes);
      this.#guests.set(processId, params);
      if (status.state === 'closed' && afterSeq === status.nextSeq - 1) events.close(); // nothing will come
      return { status, events };
    } catch (error) {
      this.#sources.delete(processId);
      throw error;
    }
  }

  async detach(processId: ProcessId): Promise<void> {
    this.#guests.delete(processId);
    this.#sources.get(processId)?.close();
    this.#sources.delete(processId);
    const leaving = this.#call('process/detach', { processId });
    this.#leaving.set(processId, leaving);
    await leaving.finally(() => this.#leaving.delete(processId));
  }

  async release(processId: ProcessId): Promise<string> {
    const { sessionId } = await this.#call('process/release', { processId });
    this.#sources.delete(processId);
    return sessionId;
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    const isFirst = !this.#isOver;
    this.#end(undefined);
    // Asked for first, so that nothing runs any more when this resolves; a server that is gone has seen to it itself.
    if (isFirst) await connection?.call('session/close', {}, closeMs).catch(() => {});
    connection?.close();
    await connection?.closed;
    await this.#options.closed?.();
  }

  #call<M extends CallMethod>(method: M, params: object | null | undefined): Promise<Result<M>> {
    if (this.#isOver) return Promise.reject(new ConnectionClosedError('the client is closed'));
    const isNewProcess = method === 'process/start' && !this.#sources.has(processIdIn(params));
    const call: PendingCall = { method, params: this.#encoded(method, params), isNewProcess, answer: deferred() };
    this.#calls.add(call);
    if (this.#connection !== undefined) this.#send(call, this.#connection);
    const answered = call.answer.promise.finally(() => this.#calls.delete(call));
    return answered.then((result) => v.parse(requests[method].result, result));
  }

  #encoded(method: CallMethod, params: object | null | undefined): unknown {
    // A start's events may come together with its reply, so their queue is there before.
    if (method === 'process/start') this.follow(processIdIn(params), 0);
    if (method !== 'process/write') return params;
    this.#writes += 1;
    // Of the session, because another client may drive the same process.
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
        // Lost on the way: sent again when the connection is back, unless that could do harm.
        if (this.#isOver || isUnrepeatable(call.method)) return call.answer.reject(error);
        if (call.method === 'process/start' || call.method === 'process/write') call.params = sentAgain(call.params);
      },
    );
  }

  async #connect(): Promise<void> {
    const { open, clock, clientName, initializeMs, reconnectMs } = this.#options;
    const channel = await open();
    const cursors = Object.fromEntries([...this.#sources].map(([id, source]) => [id, source.received]));
    const resume = this.#sessionId === undefined ? {} : { cursors, takeover: true };
    const greeting = {
      clientName,
      ...(reconnectMs > 0 ? { resumeSessionId: this.#sessionId ?? null } : {}),
      ...resume,
      capabilities: { acks: true, binaryOutput: true },
    };
    const onTold = (told: Told | undefined): void => this.#onTold(told);
    const { server, greeted, kind } = await greetServer(channel, { clock, initializeMs, greeting, onTold });
    this.#greeted(greeted);
    this.#canComeBack = reconnectMs > 0 && kind === 'sluice';
    if (this.#isOver) return server.close();
    server.notify('initialized', {});
    this.#connection = server;
    for (const [processId, { acknowledged }] of this.#sources) if (acknowledged > 0) this.#acknowledge(processId, acknowledged);
    for (const [processId, params] of this.#guests) this.#joinAgain(processId, params, server);
    for (const call of this.#calls) this.#send(call, server);
    void server.closed.then((end) => this.#onLost(end));
  }

  /** What is forgotten is over, except processes of others, which are joined again, and those that are yet to be started or joined. */
  #greeted({ sessionId, forgotten = [] }: GreetedServer['greeted']): void {
    this.#sessionId = sessionId;
    const joining = [...this.#calls].map(joinedBy);
    const over = forgotten.filter((id) => !this.#guests.has(id) && !joining.includes(id));
    for (const id of over) this.#sources.get(id)?.forget();
    for (const id of over) this.#sources.delete(id);
  }

  /** Before the calls that were lost are made again: they may be about this process. */
  #joinAgain(processId: ProcessId, params: Params<'process/attach'>, connection: Server): void {
    const source = this.#sources.get(processId);
    // Its last event was taken already: what remains is the right to call its methods.
    const cursor = source === undefined ? { follow: false } : source.cursor;
    connection.call('process/attach', { ...params, ...cursor }).catch((error: unknown) => {
      if (!(error instanceof RpcError)) return; // lost once more: the next connection tries again
      this.#guests.delete(processId);
      source?.end();
    });
  }

  #onLost({ problem = 'the server closed the connection', isFinal = false }: ChannelEnd): void {
    const { reconnectMs, onState } = this.#options;
    this.#connection = undefined;
    if (this.#isOver) return;
    if (isFinal || !this.#canComeBack) return this.#end(problem);
    onState?.({ kind: 'lost', problem, retryMs: reconnectMs });
    void this.#comeBack();
  }

  async #comeBack(): Promise<void> {
    const problem = await comeBack({ ...this.#options, connect: () => this.#connect(), isOver: () => this.#isOver });
    if (problem !== undefined) this.#end(problem);
    else if (!this.#isOver) this.#options.onState?.({ kind: 'back' });
  }

  #end(problem: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = new ConnectionClosedError(problem ?? 'the client is closed');
    for (const call of this.#calls) call.answer.reject(error);
    for (const source of this.#sources.values()) source.end();
    this.#ended.resolve(problem);
    this.#options.onState?.({ kind: 'over' });
  }

  #acknowledge(processId: ProcessId, seq: Seq): void {
    this.#connection?.notify('process/ack', { processId, seq });
  }

  #onTold(told: Told | undefined): void {
    switch (told?.kind) {
      case 'event':
        if (this.#sources.get(told.event.processId)?.push(told.event) !== true) return;
        for (const watch of this.#watchers) watch(told.event);
        return;
      case 'delta':
        return this.#deltaListeners.get(told.delta.processId)?.(told.delta);
      case undefined: // a newer server's; nothing here asked for it
    }
  }
}
