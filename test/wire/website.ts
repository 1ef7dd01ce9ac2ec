// A website on loopback, and a server that is asked to visit it.

import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { overWebSocket } from '../support/raw-connections.js';
import { type RawMessage, type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class Website implements AsyncDisposable {
  readonly base: string;
  readonly peer: RawPeer;
  readonly server: SluiceServer;
  readonly #website: ReturnType<typeof createServer>;

  private constructor(website: ReturnType<typeof createServer>, server: SluiceServer, peer: RawPeer) {
    this.#website = website;
    this.server = server;
    this.peer = peer;
    this.base = `http://127.0.0.1:${(website.address() as AddressInfo).port}`;
  }

  static async open(answer: Answer, flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Website> {
    const website = createServer(answer).listen(0, '127.0.0.1');
    await once(website, 'listening');
    const server = await SluiceServer.start('websocket', flags, { env });
    const peer = await overWebSocket(server.url);
    await peer.greet();
    return new Website(website, server, peer);
  }

  async ask(path: string, more: object = {}) {
    return this.peer.request('http/request', { method: 'GET', url: `${this.base}${path}`, requestId: 'r', ...more });
  }

  async code(more: object): Promise<number> {
    return errorOf(await this.ask('/', more)).code;
  }

  /** The notifications about a body so far, with the text of each. */
  deltas(requestId: string): { seq: unknown; text: string; done: unknown; error: unknown }[] {
    return this.peer.messages
      .filter(({ method, ...message }) => method === 'http/request/bodyDelta' && paramsOf(message)['requestId'] === requestId)
      .map((message) => {
        const { seq, deltaBase64, done, error } = paramsOf(message);
        return { seq, text: Buffer.from(String(deltaBase64), 'base64').toString(), done, error };
      });
  }

  /** All of them, once the last has arrived. */
  async body(requestId: string) {
    const isLast = ({ method, ...message }: RawMessage) => {
      const params = paramsOf(message);
      return method === 'http/request/bodyDelta' && params['requestId'] === requestId && params['done'] === true;
    };
    await this.peer.find(isLast, 'last part');
    return this.deltas(requestId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    this.#website.closeAllConnections();
    this.#website.close();
  }
}

export function bodyOf(reply: Record<string, unknown>): string {
  return Buffer.from(String(resultOf(reply)['bodyBase64']), 'base64').toString();
}

/** Answers with the request itself. */
export const echo: Answer = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => response.end(JSON.stringify([request.method, request.rawHeaders, Buffer.concat(chunks).toString()])));
};
