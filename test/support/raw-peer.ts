// A client that knows nothing of the protocol: it sends text and keeps what comes back. For tests of the exact bytes on the wire.

import assert from 'node:assert/strict';
import { eventually } from './eventually.js';

/** A message as received. */
export type RawMessage = Record<string, unknown> & { readonly id?: unknown; readonly method?: string };

export class RawPeer implements AsyncDisposable {
  readonly messages: RawMessage[] = [];
  /** The latest message as received, for what parsing would change: numbers past 2^53, spaces, the order of members. */
  lastText = '';
  /** Binary frames, which only a WebSocket has. */
  readonly frames: Uint8Array[] = [];
  /** Resolves when the connection has ended. */
  readonly closed: Promise<unknown>;
  readonly #send: (text: string) => void;
  readonly #close: () => void;
  #nextId = 1_000;

  constructor(send: (text: string) => void, close: () => void, closed: Promise<unknown>) {
    this.#send = send;
    this.#close = close;
    this.closed = closed;
  }

  /** Called with the text of every incoming message. */
  received(text: string): void {
    this.lastText = text;
    this.messages.push(JSON.parse(text) as RawMessage);
  }

  /** Stops reading, so that incoming data waits in the socket. Only for connections that support it. */
  pause: () => void = () => assert.fail('this connection cannot be paused');
  resume: () => void = () => {};

  /** Sends text unchanged. */
  send(text: string): void {
    this.#send(text);
  }

  /** Sends a request and resolves with the whole reply. */
  async request(method: string, params?: unknown): Promise<RawMessage> {
    this.#nextId += 1;
    return this.requestAs(this.#nextId, method, params);
  }

  async requestAs(id: unknown, method: string, params?: unknown): Promise<RawMessage> {
    this.send(JSON.stringify({ id, method, ...(params === undefined ? {} : { params }) }));
    return this.reply(id);
  }

  reply(id: unknown): Promise<RawMessage> {
    return this.find((message) => message.id === id && message.method === undefined, `a reply to ${JSON.stringify(id)}`);
  }

  notification(method: string, processId: string): Promise<RawMessage> {
    const isIt = (message: RawMessage) => message.method === method && paramsOf(message)['processId'] === processId;
    return this.find(isIt, `${method} of ${processId}`);
  }

  find(matches: (message: RawMessage) => boolean, what: string): Promise<RawMessage> {
    return eventually(
      () =>
        this.messages.find(matches) ?? assert.fail(`no ${what} among ${this.messages.length} messages: …${this.#lastMethods()}`),
    );
  }

  /** The last messages, to show why the expected one did not arrive. */
  #lastMethods(): string {
    return this.messages
      .slice(-10)
      .map(({ id, method, error }) => JSON.stringify({ id, method, error }))
      .join(' ');
  }

  /** Sends `initialize` and `initialized`. */
  async greet(params: object = {}): Promise<RawMessage> {
    const reply = await this.request('initialize', { clientName: 'raw', ...params });
    this.send('{"method":"initialized"}');
    return reply;
  }

  /** Everything that a process has written so far, decoded. */
  outputOf(processId: string): string {
    return this.messages
      .filter((message) => message.method === 'process/output' && paramsOf(message)['processId'] === processId)
      .map((message) => Buffer.from(String(paramsOf(message)['chunk']), 'base64').toString('latin1'))
      .join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.closed;
  }
}

export function paramsOf(message: RawMessage): Record<string, unknown> {
  return (message['params'] ?? {}) as Record<string, unknown>;
}

export function resultOf(message: RawMessage): Record<string, unknown> {
  return (message['result'] ?? assert.fail(JSON.stringify(message))) as Record<string, unknown>;
}

export function errorOf(message: RawMessage): { code: number; message: string; data?: unknown } {
  return (message['error'] ?? assert.fail(JSON.stringify(message))) as { code: number; message: string; data?: unknown };
}
