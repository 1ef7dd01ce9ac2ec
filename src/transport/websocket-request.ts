// The client's handshake of a WebSocket in Node: headers go with it, a refusal's words come back. Loads Node's HTTP when it is used.

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

/** As much of a refusal's text as an error message has room for. */
const refusalTextLength = 500;

export interface WebSocketRequestOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** PEM of the authority to trust instead of the usual ones. */
  readonly ca: string | Buffer | undefined;
  readonly maxMessageBytes: number;
  readonly clock: Clock;
}

/** A connection under way. */
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
  const asked = request({
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
  asked.on('error', (error) => opened.reject(connectError(peer, problemOf(error), error)));
  asked.on('response', (response) => {
    void refusalIn(response).then((text) =>
      opened.reject(new ConnectError(`${peer} refused the connection: ${text}`, { status: response.statusCode })),
    );
  });
  asked.on('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) => {
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
  asked.end();
  return { opened: opened.promise, giveUp: () => void asked.destroy() };
}

function problemWithAnswer({ statusCode, headers }: IncomingMessage, key: string): string | undefined {
  if (statusCode !== 101 || headers.upgrade?.toLowerCase() !== 'websocket') return 'the answer is no upgrade to a WebSocket';
  if (headers['sec-websocket-accept'] !== acceptKey(key)) return 'the answer is not to our key';
  const unasked = (['sec-websocket-protocol', 'sec-websocket-extensions'] as const).find((name) => headers[name] !== undefined);
  return unasked === undefined ? undefined : `the answer has ${unasked}, which nobody asked for`;
}

/** Random numbers are drawn by the thousand: one at a time takes ten times as long. */
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

/** The status, and as much of the text as is worth showing. */
async function refusalIn(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part: string) => (text = (text + part).slice(0, refusalTextLength)));
  await new Promise((resolve) => response.once('close', resolve));
  return `${response.statusCode ?? 0} ${text}`.trim();
}

/** A name with several addresses fails once for each, and the whole has no message of its own. */
function problemOf(error: Error): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
}

function connectError(peer: string, problem: string, cause?: unknown): ConnectError {
  return new ConnectError(`could not connect to ${peer}: ${problem}`, { cause });
}
