// A WebSocket listener that admits every client, and the proper and raw clients that connect to it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, get, request } from 'node:http';
import { type Socket, connect } from 'node:net';
import { WebSocket } from 'ws';
import type { Channel } from '#src/rpc/channel.js';
import { type WebSocketListener, type WebSocketListenerOptions, listenWebSocket } from '#src/transport/websocket-listener.js';
import { FakeClock } from '../support/fake-clock.js';
import { openDoor } from './channel-pairs.js';

export interface Door extends AsyncDisposable {
  readonly listener: WebSocketListener;
  readonly channels: Channel[];
  readonly identities: string[];
  /** For each channel, the function that admits its peer. */
  readonly admits: (() => void)[];
  /** The only channel; fails when there are none or several. */
  readonly only: Channel;
}

export async function listen(options: Partial<WebSocketListenerOptions<string>> = {}): Promise<Door> {
  const [channels, identities, admits]: [Channel[], string[], (() => void)[]] = [[], [], []];
  const listener = await listenWebSocket({
    ...openDoor,
    ...options,
    onChannel(channel, identity, admit) {
      channels.push(channel);
      identities.push(identity);
      admits.push(admit);
    },
  });
  return {
    listener,
    channels,
    identities,
    admits,
    get only() {
      const [channel] = channels;
      assert.ok(channel !== undefined && channels.length === 1);
      return channel;
    },
    async [Symbol.asyncDispose]() {
      for (const channel of channels) channel.close();
      const closing = listener.close({ graceMs: 0 });
      if (options.clock instanceof FakeClock) await options.clock.advance(0);
      await closing;
    },
  };
}

type Client = WebSocket & AsyncDisposable;

interface ClientOptions {
  readonly path?: string;
  readonly protocols?: string[];
  readonly headers?: Record<string, string>;
  readonly perMessageDeflate?: boolean;
  /** PEM of the certificate authority to trust. */
  readonly ca?: string;
}

export async function join({ listener }: Door, { path = '', protocols = [], ...options }: ClientOptions = {}): Promise<Client> {
  const socket = new WebSocket(`${listener.url}${path}`, protocols, { perMessageDeflate: false, ...options });
  await once(socket, 'open');
  return Object.assign(socket, {
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return;
      const closed = once(socket, 'close');
      socket.terminate();
      await closed;
    },
  });
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

/** The response to a client whose WebSocket upgrade is refused. */
export async function refusal(url: string): Promise<Answer> {
  const socket = new WebSocket(url);
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const answer = await answerIn(response);
  socket.terminate();
  return answer;
}

export async function plain(url: string, method: 'GET' | 'POST' = 'GET'): Promise<Answer> {
  const sent = (method === 'GET' ? get : request)(url.replace(/^ws/, 'http'), { method, agent: false });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return answerIn(response);
}

async function answerIn(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part as string;
  return { status: response.statusCode, text, headers: response.headers };
}

export async function rawAnswer({ endpoint }: WebSocketListener, head: string): Promise<{ status: number; socket: Socket }> {
  const socket = connect(endpoint.port, '127.0.0.1');
  socket.write(head);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  if (!bytes.toString().startsWith('HTTP/1.1 101')) socket.destroy();
  return { status: Number(bytes.toString().slice(9, 12)), socket };
}

/** A WebSocket that does not answer pings or closes. */
export async function rawWebSocket(listener: WebSocketListener): Promise<Socket> {
  const handshake = [
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  const { status, socket } = await rawAnswer(listener, `GET / HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`);
  assert.equal(status, 101);
  return socket.on('error', () => {});
}
