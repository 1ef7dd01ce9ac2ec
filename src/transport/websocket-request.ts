// The client's WebSocket handshake in Node. Unlike a browser's, it sends headers and reports the text of a refusal. Loads node:http on use.

import { randomBytes, randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { Channel } from '../rpc/channel.js';
import { ConnectError } from './connect-error.js';
import { formatEndpoint, type WebSocketEndpoint } from './endpoint.js';
import { probeWhenIdle } from './keep-alive.js';
import type { MaskingKeys } from './websocket-frame.js';
import { acceptKey, webSocketVersion } from './websocket-handshake.js';
import { WebSocketChannel } from './websocket-channel.js';

/** Longest part of a refusal's text that is put into an error message, in characters. */
const refusalTextLength = 500;

export interface WebSocketRequestOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** PEM of the certificate authority to trust instead of the default ones. */
  readonly ca: string | Buffer | undefined;
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** A connection being opened. */
export interface Attempt {
  /** Rejects with a ConnectError. */
  readonly opened: Promise<Channel>;
  giveUp(): void;
}

export async function requestWebSocket(endpoint: WebSocketEndpoint, options: WebSocketRequestOptions): Promise<Attempt> {
  const { request } = await (endpoint.isSecure ? import('node:https') : import('node:http'));
  const { headers, ca, maxMessageBytes, clock } = options;
  const peer = formatEndpoint(endpoint);
  const key = randomBytes(16).toString('base64');
  const upgrade = request({
    host: endpoint.host,
    port: endpoint.port,
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': webSocketVersion,
      'sec-websocket-key': key,
    },
    agent: false,
    ...(ca === undefined ? {} : { ca }),
  });
  const opened = deferred<Channel>();
  upgrade.on('error', (error) => opened.reject(connectError(peer, problemOf(error), error)));
  upgrade.on('response', (response) => {
    void refusalIn(response).then((text) =>
      opened.reject(new ConnectError(`${peer} refused the connection: ${text}`, { status: response.statusCode })),
    );
  });
  upgrade.on('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) => {
    const problem = problemWithAnswer(response, key);
    if (problem !== undefined) {
      socket.destroy();
      return opened.reject(connectError(peer, problem));
    }
    socket.setNoDelay(true);
    probeWhenIdle(socket);
    const role = { kind: 'client', keys: maskingKeys() } as const;
    opened.resolve(new WebSocketChannel({ socket, role, head, peer, maxMessageBytes, clock }));
  });
  upgrade.end();
  return { opened: opened.promise, giveUp: () => void upgrade.destroy() };
}

function problemWithAnswer({ statusCode, headers }: IncomingMessage, key: string): string | undefined {
  if (statusCode !== 101 || headers.upgrade?.toLowerCase() !== 'websocket') return 'the response is not a WebSocket upgrade';
  if (headers['sec-websocket-accept'] !== acceptKey(key)) return 'the response does not match our Sec-WebSocket-Key';
  const extra = (['sec-websocket-protocol', 'sec-websocket-extensions'] as const).find((name) => headers[name] !== undefined);
  return extra === undefined ? undefined : `the response has ${extra}, which was not requested`;
}

/** Generates random numbers in batches of 1024, because one at a time takes ten times as long. */
function maskingKeys(): MaskingKeys {
  const numbers = new Int32Array(1024);
  let next = numbers.length;
  return () => {
    if (next === numbers.length) {
      randomFillSync(numbers);
      next = 0;
    }
    next += 1;
    return numbers[next - 1] ?? 0;
  };
}

/** The status and the text, truncated. */
async function refusalIn(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part: string) => (text = (text + part).slice(0, refusalTextLength)));
  await new Promise((resolve) => response.once('close', resolve));
  return `${response.statusCode ?? 0} ${text}`.trim();
}

/** A name with several addresses fails once for each, with an AggregateError that has no message. */
function problemOf(error: Error): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
}

function connectError(peer: string, problem: string, cause?: unknown): ConnectError {
  return new ConnectError(`could not connect to ${peer}: ${problem}`, { cause });
}
