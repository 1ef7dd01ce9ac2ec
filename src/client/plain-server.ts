// Adapts a server that speaks the dialect but is not Sluice, Codex's exec-server or a v0 server, so that the link can treat it as Sluice.
// What such a server cannot do is refused. Loaded only when such a server answers.

import * as v from 'valibot';
import type { Clock } from '../base/clock.js';
import { rpcCodes } from '../base/rpc-codes.js';
import { type Params, type ProcessEvent, type ProcessId, decodeBase64, notifications, requests } from '../protocol/index.js';
import type { Channel, ChannelEnd } from '../rpc/channel.js';
import type { Connection } from '../rpc/connection.js';
import { RpcError } from '../rpc/rpc-error.js';
import { type PlainNotice, PlainProcess } from './plain-process.js';
import { PlainWindow } from './plain-window.js';
import { plainStart } from './plain-start.js';
import { processIdIn } from './remote-call.js';

export interface PlainServerOptions {
  /** The answer to `initialize`. */
  readonly greeting: unknown;
  readonly clock: Clock;
  readonly onEvent: (event: ProcessEvent) => void;
}

const greetingSchema = v.object({
  sessionId: v.nullish(v.string()),
  environmentInfo: v.nullish(v.object({ cwd: v.nullish(v.string()) })),
});

const { entries: output } = notifications['process/output'].params;
const seq = v.optional(output.seq);
const outputNotice = v.object({ processId: output.processId, seq, stream: output.stream, chunk: output.chunk });
const exitedNotice = v.object({ processId: output.processId, seq, exitCode: v.number(), sandboxDenied: v.optional(v.boolean()) });
const closedNotice = v.object({ processId: output.processId, seq });

const plainPage = v.object({
  chunks: v.array(v.object({ seq: output.seq, stream: output.stream, chunk: v.string() })), // decoded later, with the whole answer
  nextSeq: output.seq,
  exited: v.boolean(),
  exitCode: v.nullish(v.number()),
  closed: v.nullish(v.boolean()),
  failure: v.nullish(v.string()),
  sandboxDenied: v.nullish(v.boolean()),
});

/** Error texts of a v0 server for a write that it did not accept. */
const refusedWrite = /stdin|unknown process/i;

export class PlainServer {
  /** Empty for a v0 server, which has no sessions. */
  readonly sessionId: string;
  readonly #connection: Connection;
  readonly #options: PlainServerOptions;
  readonly #cwd: string | undefined;
  readonly #processes = new Map<ProcessId, PlainProcess>();
  readonly #terminals = new Set<ProcessId>();
  readonly #window: PlainWindow;
  #isDisconnected = false;

  constructor(connection: Connection, options: PlainServerOptions) {
    const { sessionId, environmentInfo } = v.parse(greetingSchema, options.greeting ?? {});
    this.sessionId = sessionId ?? '';
    this.#cwd = environmentInfo?.cwd ?? undefined;
    this.#connection = connection;
    this.#options = options;
    this.#window = new PlainWindow(connection.channel);
    void connection.closed.then(() => {
      this.#isDisconnected = true;
      for (const each of this.#processes.values()) each.forget();
    });
  }

  get closed(): Promise<ChannelEnd> {
    return this.#connection.closed;
  }

  get channel(): Channel {
    return this.#connection.channel;
  }

  close(problem?: string): void {
    this.#connection.close(problem);
  }

  /** Does not forward acknowledgements, because such a server closes the connection on an unknown notification. */
  notify(method: string, params: unknown): boolean {
    if (method === 'initialized') return this.#connection.notify(method, params);
    if (method === 'process/ack') this.#window.acknowledge(v.parse(notifications[method].params, params));
    return true;
  }

  /** Sends before it returns, so that calls keep their order. Invalid parameters are rejected as if by the server. */
  async call(method: string, params: unknown, timeoutMs?: number): Promise<unknown> {
    try {
      return await this.#answer(method, params, timeoutMs);
    } catch (error) {
      if (!v.isValiError(error)) throw error;
      throw new RpcError({ code: rpcCodes.invalidParams, message: error.message });
    }
  }

  #answer(method: string, params: unknown, timeoutMs: number | undefined): Promise<unknown> {
    switch (method) {
      case 'process/start':
        return this.#start(v.parse(requests[method].params, params));
      case 'process/write':
        return this.#write(params);
      case 'process/closeStdin':
        return this.#closeStdin(processIdIn(params));
      case 'process/signal':
        return this.#signal(v.parse(requests[method].params, params));
      case 'process/terminate':
        return this.#terminate(processIdIn(params));
      case 'process/wait':
        return this.#wait(v.parse(requests[method].params, params));
      case 'process/read':
        return this.#read(v.parse(requests[method].params, params));
      case 'session/close':
        return this.#closeSession(timeoutMs);
      default:
        if (method.startsWith('files/')) throw refusal('client.files');
        return this.#ask(method, params, timeoutMs); // the server itself refuses unknown methods
    }
  }

  /** A notification that cannot be parsed or ordered ends the connection, because the later ones could not be trusted. */
  onNotification(method: string, params: unknown): void {
    try {
      const parsed = readNotice(method, params);
      if (parsed !== undefined) this.#processes.get(parsed.processId)?.receive(parsed.notice);
    } catch (error) {
      this.close(error instanceof Error ? error.message : String(error));
    }
  }

  async #start(params: Params<'process/start'>): Promise<unknown> {
    const { processId } = params;
    const request = plainStart(params, { isV0: this.#isV0, cwd: this.#cwd });
    if (this.#processes.has(processId))
      throw new RpcError({ code: rpcCodes.invalidRequest, message: `process ${processId} already exists` });
    const process = new PlainProcess({
      processId,
      clock: this.#options.clock,
      hasClosed: !this.#isV0,
      onEvent: (event) => this.#emit(event),
      terminate: () => void this.#ask('process/terminate', { processId }).catch(() => {}), // the ending reports how the process ended
    });
    this.#processes.set(processId, process); // its output may arrive before the reply
    this.#window.join(processId);
    if (request.tty) this.#terminals.add(processId);
    try {
      await this.#ask('process/start', request);
    } catch (error) {
      this.#forget(processId);
      throw error;
    }
    process.started(params);
    return { processId, sandboxType: 'none' };
  }

  async #write(params: unknown): Promise<unknown> {
    try {
      const answered = v.parse(
        v.object({ status: v.optional(v.string()), accepted: v.optional(v.boolean()) }),
        await this.#ask('process/write', params),
      );
      const status = answered.status ?? (answered.accepted === true ? 'accepted' : 'stdinClosed');
      return { accepted: status === 'accepted', status };
    } catch (error) {
      if (!this.#isV0 || !(error instanceof RpcError) || !refusedWrite.test(error.message)) throw error;
      return { accepted: false, status: 'stdinClosed' };
    }
  }

  /** Such servers cannot close stdin. On a terminal, writing the end-of-file character works, unless the program has changed it. */
  async #closeStdin(processId: ProcessId): Promise<unknown> {
    if (!this.#terminals.has(processId)) throw refusal('closing the stdin of a pipe');
    await this.#write({ processId, chunk: Uint8Array.of(4), writeId: crypto.randomUUID() });
    return { status: 'closed' };
  }

  async #signal({ processId, signal }: Params<'process/signal'>): Promise<unknown> {
    if (!/^(?:SIG)?INT$|^interrupt$/i.test(signal)) throw refusal(`signal ${signal}, only SIGINT`);
    const delivered = this.#processes.get(processId)?.hasExited === false; // before the signal, which may end the process
    await this.#ask('process/signal', { processId, signal: 'interrupt' });
    return { delivered };
  }

  /** Sends SIGKILL immediately, because such a server has no grace period. */
  async #terminate(processId: ProcessId): Promise<unknown> {
    const process = this.#processes.get(processId);
    const running = process?.hasExited === false;
    process?.end('terminated');
    return { running };
  }

  async #wait({ processId, until, timeoutMs }: Params<'process/wait'>): Promise<unknown> {
    const process = this.#processes.get(processId);
    if (process === undefined) {
      throw new RpcError({
        code: rpcCodes.invalidRequest,
        message: `unknown process id ${processId}`,
        data: { kind: 'processNotFound', processId },
      });
    }
    const moment = until === 'closed' ? 'closed' : 'exited'; // such a server does not report when stdout is closed
    await process.until(moment, timeoutMs);
    const { ending, isClosed } = process;
    const running = moment === 'closed' ? !isClosed : ending === undefined;
    if (running && this.#isDisconnected) return this.#ask('process/wait', { processId }); // rejects with the reason of the close
    return { running, ...(ending === undefined ? {} : { ending }) };
  }

  /** Rejects when output is missing from the page, because the server does not report how many bytes. */
  async #read({ processId, afterSeq, afterBytes, maxBytes, waitMs }: Params<'process/read'>): Promise<unknown> {
    const page = v.parse(plainPage, await this.#ask('process/read', { processId, afterSeq, maxBytes, waitMs }));
    const missing = (page.chunks[0]?.seq ?? 0) - (afterSeq ?? 0) - 1;
    if (missing > (page.exited ? 1 : 0)) throw refusal('reading output that is no longer retained'); // the exit has a number too
    const bytes = page.chunks.reduce((sum, { chunk }) => sum + (decodeBase64(chunk)?.length ?? 0), 0);
    return {
      ...page,
      nextBytes: (afterBytes ?? 0) + bytes,
      droppedBytes: 0,
      exitCode: page.exitCode ?? null,
      closed: page.closed ?? this.#processes.get(processId)?.isClosed ?? true,
      failure: page.failure ?? null,
      sandboxDenied: page.sandboxDenied ?? false,
    };
  }

  /** Terminates the processes, because a released server keeps a disconnected session and its processes for half a minute. */
  async #closeSession(timeoutMs: number | undefined): Promise<unknown> {
    const running = [...this.#processes.values()].filter(({ hasExited }) => !hasExited);
    for (const each of running) each.end('disconnected');
    await Promise.all(running.map((each) => each.until('exited', timeoutMs)));
    return {};
  }

  #emit(event: ProcessEvent): void {
    if (event.type === 'output') this.#window.add(event);
    this.#options.onEvent(event);
    if (event.type === 'closed') this.#forget(event.processId); // this was its last event
  }

  #forget(processId: ProcessId): void {
    this.#processes.get(processId)?.forget();
    this.#processes.delete(processId);
    this.#terminals.delete(processId);
    this.#window.leave(processId);
  }

  async #ask(method: string, params: unknown, timeoutMs?: number): Promise<unknown> {
    using _call = this.#window.lift();
    return await this.#connection.call(method, params, timeoutMs);
  }

  get #isV0(): boolean {
    return this.sessionId === '';
  }
}

function readNotice(method: string, params: unknown): { processId: ProcessId; notice: PlainNotice } | undefined {
  switch (method) {
    case 'process/output': {
      const { processId, ...rest } = v.parse(outputNotice, params);
      return { processId, notice: { kind: 'output', ...rest, seq: rest.seq } };
    }
    case 'process/exited': {
      const { processId, exitCode, sandboxDenied = false, ...rest } = v.parse(exitedNotice, params);
      return { processId, notice: { kind: 'exited', exitCode, sandboxDenied, seq: rest.seq } };
    }
    case 'process/closed': {
      const { processId, seq: number } = v.parse(closedNotice, params);
      return { processId, notice: { kind: 'closed', seq: number } };
    }
    default:
      return undefined;
  }
}

function refusal(demand: string): RpcError {
  const message = `this server, which is not Sluice, does not support ${demand}`;
  return new RpcError({ code: rpcCodes.invalidRequest, message, data: { kind: 'invalidRequest', problem: message } });
}
