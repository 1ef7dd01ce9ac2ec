// A server that speaks the dialect but is not Sluice: Codex's own exec-server, or one of v0. Makes it look like Sluice to the link, as far as
// that goes; what such a server cannot do is refused. Loaded when one answers.

import * as v from 'valibot';
import type { Clock } from '../base/clock.js';
import { rpcCodes } from '../base/rpc-codes.js';
import { type Params, type ProcessEvent, type ProcessId, decodeBase64, notifications, requests } from '../protocol/index.js';
import type { ChannelEnd } from '../rpc/channel.js';
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
  readonly tell: (event: ProcessEvent) => void;
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
  chunks: v.array(v.object({ seq: output.seq, stream: output.stream, chunk: v.string() })), // read with the answer as a whole
  nextSeq: output.seq,
  exited: v.boolean(),
  exitCode: v.nullish(v.number()),
  closed: v.nullish(v.boolean()),
  failure: v.nullish(v.string()),
  sandboxDenied: v.nullish(v.boolean()),
});

/** What a v0 server says of a write that it did not take. */
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
  #isOver = false;

  constructor(connection: Connection, options: PlainServerOptions) {
    const { sessionId, environmentInfo } = v.parse(greetingSchema, options.greeting ?? {});
    this.sessionId = sessionId ?? '';
    this.#cwd = environmentInfo?.cwd ?? undefined;
    this.#connection = connection;
    this.#options = options;
    this.#window = new PlainWindow(connection.channel);
    void connection.closed.then(() => {
      this.#isOver = true;
      for (const each of this.#processes.values()) each.forget();
    });
  }

  get closed(): Promise<ChannelEnd> {
    return this.#connection.closed;
  }

  close(problem?: string): void {
    this.#connection.close(problem);
  }

  /** Acknowledgements stop here: such a server hangs up on a notification that it does not know. */
  notify(method: string, params: unknown): boolean {
    if (method === 'initialized') return this.#connection.notify(method, params);
    if (method === 'process/ack') this.#window.acknowledge(v.parse(notifications[method].params, params));
    return true;
  }

  /** Takes effect before it returns, so that calls keep their order. Invalid parameters are rejected as if by the server. */
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
        return this.#ask(method, params, timeoutMs); // what it does not know, it refuses itself
    }
  }

  /** A notification that cannot be read or put in order ends the connection: what comes after it could not be trusted. */
  hear(method: string, params: unknown): void {
    try {
      const heard = readNotice(method, params);
      if (heard !== undefined) this.#processes.get(heard.processId)?.hear(heard.notice);
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
      tell: (event) => this.#tell(event),
      terminate: () => void this.#ask('process/terminate', { processId }).catch(() => {}), // the ending tells what became of it
    });
    this.#processes.set(processId, process); // what it writes may come before the reply
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

  /** Such servers cannot close stdin. On a terminal the end-of-file character does it, unless the program has set another one. */
  async #closeStdin(processId: ProcessId): Promise<unknown> {
    if (!this.#terminals.has(processId)) throw refusal('the end of a pipe’s stdin');
    await this.#write({ processId, chunk: Uint8Array.of(4), writeId: crypto.randomUUID() });
    return { status: 'closed' };
  }

  async #signal({ processId, signal }: Params<'process/signal'>): Promise<unknown> {
    if (!/^(?:SIG)?INT$|^interrupt$/i.test(signal)) throw refusal(`signal ${signal}, other than SIGINT,`);
    await this.#ask('process/signal', { processId, signal: 'interrupt' });
    return { delivered: this.#processes.get(processId)?.hasExited === false };
  }

  /** SIGKILL, at once: such a server knows no grace. */
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
    const moment = until === 'closed' ? 'closed' : 'exited'; // such a server does not tell when a stdout is closed
    await process.until(moment, timeoutMs);
    const { ending, isClosed } = process;
    const running = moment === 'closed' ? !isClosed : ending === undefined;
    if (running && this.#isOver) return this.#ask('process/wait', { processId }); // rejects with why the connection is closed
    return { running, ...(ending === undefined ? {} : { ending }) };
  }

  /** The server does not say how many bytes a hole holds, so a page with a hole is refused. */
  async #read({ processId, afterSeq, afterBytes, maxBytes, waitMs }: Params<'process/read'>): Promise<unknown> {
    const page = v.parse(plainPage, await this.#ask('process/read', { processId, afterSeq, maxBytes, waitMs }));
    const missing = (page.chunks[0]?.seq ?? 0) - (afterSeq ?? 0) - 1;
    if (missing > (page.exited ? 1 : 0)) throw refusal('reading what is no longer retained'); // the exit has a number, too
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

  /** A released server keeps a session that has lost its connection for half a minute, and its processes with it. */
  async #closeSession(timeoutMs: number | undefined): Promise<unknown> {
    const running = [...this.#processes.values()].filter(({ hasExited }) => !hasExited);
    for (const each of running) each.end('disconnected');
    await Promise.all(running.map((each) => each.until('exited', timeoutMs)));
    return {};
  }

  #tell(event: ProcessEvent): void {
    if (event.type === 'output') this.#window.add(event);
    this.#options.tell(event);
    if (event.type === 'closed') this.#forget(event.processId); // its source has heard everything
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
  const message = `${demand} cannot be had from this server, which is not Sluice`;
  return new RpcError({ code: rpcCodes.invalidRequest, message, data: { kind: 'invalidRequest', problem: message } });
}
