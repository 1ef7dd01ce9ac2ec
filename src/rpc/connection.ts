// A channel with calls paired to replies. Hands inbound calls to one function, in the order they came; knows no method by name.

import type { Clock, Timer } from '../base/clock.js';
import { type Deferred, deferred } from '../base/deferred.js';
import { rpcCodes } from '../base/rpc-codes.js';
import type { Channel, ChannelEnd } from './channel.js';
import { jsonParts } from './json-parts.js';
import { type Envelope, type JsonLimits, type RequestId, readEnvelope } from './message.js';
import { CallTimeoutError, ConnectionClosedError, RpcError, type RpcErrorBody } from './rpc-error.js';

export interface ConnectionLimits extends JsonLimits {
  /** Requests of the peer that are being worked on; more are refused. */
  readonly maxInFlight: number;
}

/** The answer to a request, and what may only happen once it is on its way. */
export interface Reply<T = unknown> {
  readonly result: T;
  readonly afterReply?: (() => void) | undefined;
}

/** What a connection does with what arrives. */
export interface Inbound {
  /** Takes effect before its first await, so that order holds. */
  request(method: string, params: unknown): Promise<Reply>;
  notification(method: string, params: unknown): void;
  binary(frame: Uint8Array): void;
  /** Turns whatever was thrown into what the peer may see. */
  errorBody(error: unknown): RpcErrorBody;
}

/** Answers queued for a peer before the next one waits, not even encoded. Far above what a peer that reads ever has queued. */
const queuedReplyBytes = 4 * 1024 * 1024;

/** The id that answers what had none. */
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
      const message = `${this.#limits.maxInFlight} requests are in flight already; wait for an answer before sending more`;
      return this.#sendError(id, { code: rpcCodes.tooManyRequests, message });
    }
    this.#inFlight += 1;
    inbound
      .request(method, params)
      .then(async ({ result, afterReply }) => {
        // Asked again in the very step that sends: many wait, and each that sends may leave no room for the next.
        while (this.#isStuffed) await this.#channel.drained();
        this.#send({ id, result: result ?? null });
        afterReply?.();
      })
      .catch((error: unknown) => this.#sendError(id, inbound.errorBody(error)))
      .finally(() => (this.#inFlight -= 1));
  }

  /** A peer that asks and does not read its answers waits for them, in no more memory than this. What it asked for was done. */
  get #isStuffed(): boolean {
    return !this.#isClosed && this.#channel.queuedBytes > queuedReplyBytes;
  }

  #settle(id: RequestId, settle: (answer: Deferred<unknown>) => void): void {
    const pending = this.#pending.get(id);
    // An error without a request of ours tells of a message the peer could not read; nobody waits for it.
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
    if (this.#isStuffed && !this.#isHeld) void this.#holdPeer();
  }

  /** Nothing limits how much a peer can have refused: one that does not read that is not read either. */
  async #holdPeer(): Promise<void> {
    this.#isHeld = true;
    this.#channel.pause();
    while (this.#isStuffed) await this.#channel.drained();
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
