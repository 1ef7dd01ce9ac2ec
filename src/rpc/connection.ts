// Matches calls to replies over a channel. Passes inbound calls to one function in arrival order; knows no method by name.

import type { Clock, Timer } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { rpcCodes } from '../base/rpc-codes.js';
import type { Channel, ChannelEnd } from './channel.js';
import { jsonParts } from './json-parts.js';
import { type Envelope, type JsonLimits, type RequestId, readEnvelope } from './message.js';
import { CallTimeoutError, ConnectionClosedError, RpcError, type RpcErrorBody } from './rpc-error.js';

export interface ConnectionLimits extends JsonLimits {
  /** Requests from the peer that may be in progress at once; more are refused. */
  readonly maxInFlight: number;
}

/** The result of a request, and an action to run only after it has been sent. */
export interface Reply<T = unknown> {
  readonly result: T;
  readonly afterReply?: (() => void) | undefined;
}

/** Handlers for inbound messages. */
export interface Inbound {
  /** Must take effect before its first await, so that requests keep their order. */
  request(method: string, params: unknown): Promise<Reply>;
  notification(method: string, params: unknown): void;
  binary(frame: Uint8Array): void;
  /** Converts a thrown value into the error the peer may see. */
  errorBody(error: unknown): RpcErrorBody;
}

/** Replies queued for a peer before further ones wait, not yet encoded. Far more than a peer that reads ever has queued. */
const queuedReplyBytes = 4 * 1024 * 1024;

/** The id of error replies to messages that had none. */
const noId = -1;

interface Pending {
  readonly answer: Deferred<unknown>;
  readonly timer: Timer | undefined;
}

export class Connection {
  readonly #channel: Channel;
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #pending = new Map<RequestId, Pending>();
  #nextId = 0;
  #inFlight = 0;
  #isHeld = false;
  #isClosed = false;

  constructor(channel: Channel, limits: ConnectionLimits, clock: Clock) {
    this.#channel = channel;
    this.#limits = limits;
    this.#clock = clock;
    void channel.closed.then((end) => this.#onClosed(end));
  }

  get channel(): Channel {
    return this.#channel;
  }

  get closed(): Promise<ChannelEnd> {
    return this.#channel.closed;
  }

  /** Call once, before anything can arrive. */
  serve(inbound: Inbound): void {
    this.#channel.listen({
      message: (text) => this.#onMessage(text, inbound),
      binary: (frame) => inbound.binary(frame),
      unreadable: (problem) => this.#refuse(problem),
    });
  }

  /** Rejects with RpcError, ConnectionClosedError or CallTimeoutError. */
  call(method: string, params: unknown, timeoutMs?: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new ConnectionClosedError(`the connection to ${this.#channel.peer} is closed`));
    const id = this.#nextId;
    this.#nextId += 1;
    const answer = deferred<unknown>();
    const timer = timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => this.#timeOut(id, method, timeoutMs));
    this.#pending.set(id, { answer, timer });
    this.#send({ id, method, params });
    return answer.promise;
  }

  /** False when the peer lags. */
  notify(method: string, params: unknown): boolean {
    return this.#send({ method, params });
  }

  close(problem?: string, sense?: 'goodbye'): void {
    this.#channel.close(problem, sense);
  }

  #onMessage(text: string, inbound: Inbound): void {
    const envelope = readEnvelope(text, this.#limits);
    switch (envelope.kind) {
      case 'request':
        return this.#onRequest(envelope, inbound);
      case 'notification':
        try {
          return inbound.notification(envelope.method, envelope.params);
        } catch (error) {
          return this.#sendError(noId, inbound.errorBody(error));
        }
      case 'result':
        return this.#settle(envelope.id, (answer) => answer.resolve(envelope.result));
      case 'error':
        return this.#settle(envelope.id, (answer) => answer.reject(new RpcError(envelope.error)));
      case 'malformed':
        return this.#refuse(envelope.problem);
    }
  }

  #onRequest({ id, method, params }: Envelope & { kind: 'request' }, inbound: Inbound): void {
    if (this.#inFlight >= this.#limits.maxInFlight) {
      const message = `${this.#limits.maxInFlight} requests are already in flight; wait for a reply before sending more`;
      return this.#sendError(id, { code: rpcCodes.tooManyRequests, message });
    }
    this.#inFlight += 1;
    inbound
      .request(method, params)
      .then(async ({ result, afterReply }) => {
        // Checked again right before sending: many replies may wait, and each one sent may fill the queue again.
        while (this.#isBacklogged) await this.#channel.drained();
        this.#send({ id, result: result ?? null });
        afterReply?.();
      })
      .catch((error: unknown) => this.#sendError(id, inbound.errorBody(error)))
      .finally(() => (this.#inFlight -= 1));
  }

  /** Bounds the memory for a peer that sends requests but does not read the replies: the replies wait, although the requests took effect. */
  get #isBacklogged(): boolean {
    return !this.#isClosed && this.#channel.queuedBytes > queuedReplyBytes;
  }

  #settle(id: RequestId, settle: (answer: Deferred<unknown>) => void): void {
    const pending = this.#pending.get(id);
    // An error for no request of ours reports a message that the peer could not read; no caller waits for it.
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.timer?.cancel();
    settle(pending.answer);
  }

  #timeOut(id: RequestId, method: string, timeoutMs: number): void {
    this.#settle(id, (answer) => answer.reject(new CallTimeoutError(`no answer to ${method} within ${timeoutMs} ms`)));
  }

  #refuse(problem: string): void {
    this.#sendError(noId, { code: rpcCodes.invalidRequest, message: problem });
  }

  #sendError(id: RequestId, error: RpcErrorBody): void {
    this.#send({ id, error });
    if (this.#isBacklogged && !this.#isHeld) void this.#holdPeer();
  }

  /** Error replies count against no limit, so stop reading from a peer that does not read them. */
  async #holdPeer(): Promise<void> {
    this.#isHeld = true;
    this.#channel.pause();
    while (this.#isBacklogged) await this.#channel.drained();
    this.#isHeld = false;
    this.#channel.resume();
  }

  #send(message: object): boolean {
    const parts = jsonParts(message);
    const [text] = parts;
    return parts.length === 1 && typeof text === 'string' ? this.#channel.send(text) : this.#channel.sendParts(parts);
  }

  #onClosed({ problem, isFinal = false }: ChannelEnd): void {
    this.#isClosed = true;
    const text = `the connection to ${this.#channel.peer} was lost${problem === undefined ? '' : `: ${problem}`}`;
    const error = () => new ConnectionClosedError(text, { isFinal });
    for (const id of [...this.#pending.keys()]) this.#settle(id, (answer) => answer.reject(error()));
  }
}
