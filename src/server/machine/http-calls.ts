// Codex's `http/request`: the whole body in the reply, or as a series of notifications at the caller's pace.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.js';
import { joinBytes } from '../../base/join-bytes.js';
import { type Params, type Result, execError } from '../../protocol/index.js';
import type { AfterReply, CallContext, CallGroup, MethodsOf } from './call-group.js';
import { HttpConnections, exchange } from './http-exchange.js';
import { headersOf, readRequest } from './http-message.js';

type RequestParams = Params<'http/request'>;

/** Longest body in one reply, in bytes. As base64 it is 85 MiB, in a message that has to be in memory at once; streams have no limit. */
const longestBody = 64 * 1024 * 1024;

/** Longest delta, in bytes: Codex's limit. */
const longestDelta = 1024 * 1024;

export function createHttpCalls(context: CallContext): CallGroup<MethodsOf<'http'>> {
  const requests = new HttpRequests(context);
  return {
    calls: { 'http/request': async (params, afterReply) => requests.request(params, afterReply) },
    flowCalls: {},
    end: () => requests.end(),
  };
}

class HttpRequests {
  readonly #context: CallContext;
  readonly #connections = new HttpConnections();
  readonly #live = new Set<AbortController>();
  /** Ids of buffered requests need not be unique: Codex's client always uses the same. */
  readonly #streamIds = new Set<string>();
  #isEnded = false;

  constructor(context: CallContext) {
    this.#context = context;
  }

  async request(params: RequestParams, afterReply: AfterReply): Promise<Result<'http/request'>> {
    const { machine, session } = this.#context;
    if (machine.network.http === 'off') {
      throw execError('networkRefused', {
        problem: 'this server makes no HTTP requests; start it without --no-http to allow them',
      });
    }
    const request = readRequest(params, session.surroundings.env);
    const live = this.#begin(params, machine.clock);
    try {
      const response = await exchange(request, {
        connections: this.#connections,
        rule: { policy: machine.network },
        redirects: params.redirectPolicy ?? 'follow',
        signal: live.signal,
      });
      const head = { status: response.statusCode ?? 0, headers: headersOf(response) };
      if (params.streamResponse !== true) {
        const bodyBase64 = await wholeBody(response, live.signal);
        live.end();
        return { ...head, bodyBase64 };
      }
      afterReply(() => void this.#stream(params.requestId, response, live));
      return { ...head, bodyBase64: new Uint8Array() };
    } catch (error) {
      live.end();
      throw error;
    }
  }

  /** The caller has disconnected. */
  end(): void {
    this.#isEnded = true;
    for (const live of this.#live) live.abort(ended());
    this.#connections.close();
  }

  #begin({ requestId, streamResponse, timeoutMs }: RequestParams, clock: Clock) {
    const { maxHttpRequests } = this.#context.machine.limits;
    if (this.#live.size >= maxHttpRequests) {
      const problem = `at most ${maxHttpRequests} HTTP requests may be in progress per connection`;
      throw execError('invalidRequest', { problem });
    }
    const isStream = streamResponse === true;
    if (isStream && this.#streamIds.has(requestId)) {
      throw execError('invalidParams', { problem: `http/request streamResponse requestId \`${requestId}\` is already active` });
    }
    if (isStream) this.#streamIds.add(requestId);
    const controller = new AbortController();
    if (this.#isEnded) controller.abort(ended());
    this.#live.add(controller);
    const timer =
      timeoutMs === undefined || timeoutMs === null
        ? undefined
        : clock.after(timeoutMs, () => controller.abort(new Error(`it took longer than ${timeoutMs} ms`)));
    const end = (): void => {
      timer?.cancel();
      this.#live.delete(controller);
      if (isStream) this.#streamIds.delete(requestId);
    };
    return { signal: controller.signal, end };
  }

  async #stream(requestId: string, response: IncomingMessage, live: Live): Promise<void> {
    let seq = 0;
    let error: string | null = null;
    const { notify } = this.#context;
    try {
      for await (const chunk of chunksOf(response)) {
        for (let at = 0; at < chunk.length; at += longestDelta) {
          seq += 1;
          await notify.bodyDelta({
            requestId,
            seq,
            deltaBase64: chunk.subarray(at, at + longestDelta),
            done: false,
            error: null,
          });
        }
      }
    } catch (failure) {
      error = reasonOf(failure, live.signal);
    }
    live.end(); // before the last delta, after which the caller may use the id again
    await notify.bodyDelta({ requestId, seq: seq + 1, deltaBase64: new Uint8Array(), done: true, error });
  }
}

interface Live {
  readonly signal: AbortSignal;
  end(): void;
}

async function wholeBody(response: IncomingMessage, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of chunksOf(response)) {
      length += chunk.length;
      if (length > longestBody) throw new Error(`it is longer than ${longestBody} bytes; use streamResponse`);
      chunks.push(chunk);
    }
  } catch (error) {
    const problem = `failed to read http/request response body: ${reasonOf(error, signal)}`;
    throw execError('networkFailed', { problem }, { cause: error });
  }
  return joinBytes(chunks);
}

/** Leaving the loop early destroys the response. */
async function* chunksOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const chunk of response) if (chunk instanceof Uint8Array) yield chunk;
}

function ended(): Error {
  return new Error('the connection has ended');
}

function reasonOf(failure: unknown, { aborted, reason }: AbortSignal): string {
  const cause: unknown = aborted ? reason : failure;
  if (!(cause instanceof Error)) return String(cause);
  const isCut = 'code' in cause && cause.code === 'ECONNRESET';
  return isCut ? 'the connection was lost before the body ended' : cause.message;
}
