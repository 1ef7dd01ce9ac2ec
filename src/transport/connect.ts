// Opens a Channel to a server that is already listening. Loads `ws` only for addresses that need it.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { type Clock, systemClock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { Channel } from '../rpc/channel.js';
import { ConnectError } from './connect-error.js';
import { type ConnectEndpoint, formatEndpoint, type UnixEndpoint, type WebSocketEndpoint } from './endpoint.js';
import { StreamChannel } from './stream-channel.js';
import { openWebSocketChannel } from './websocket-channel.js';

/** As much of a refusal's text as an error message has room for. */
const refusalTextLength = 500;

export interface OpenChannelOptions {
  /** Sent with the upgrade of a WebSocket: the place for a token. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the authority to trust instead of the usual ones. */
  readonly ca?: string | Buffer | undefined;
  readonly maxMessageBytes: number;
  readonly timeoutMs: number;
  readonly clock?: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** The caller owns the channel. Rejects with a ConnectError, or with the signal's reason. */
export async function openChannel(endpoint: ConnectEndpoint, options: OpenChannelOptions): Promise<Channel> {
  options.signal?.throwIfAborted();
  const attempt = endpoint.kind === 'unix' ? connectUnix(endpoint, options) : await connectWebSocket(endpoint, options);
  const { clock = systemClock, timeoutMs, signal } = options;
  const failed = deferred<never>();
  const abort = (): void => failed.reject(signal?.reason);
  const timer = clock.after(timeoutMs, () =>
    failed.reject(new ConnectError(`no answer from ${formatEndpoint(endpoint)} within ${timeoutMs} ms`)),
  );
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([attempt.opened, failed.promise]);
  } catch (error) {
    attempt.giveUp();
    throw error;
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', abort);
  }
}

interface Attempt {
  readonly opened: Promise<Channel>;
  giveUp(): void;
}

function connectUnix(endpoint: UnixEndpoint, { maxMessageBytes, clock = systemClock }: OpenChannelOptions): Attempt {
  const socket = connect({ path: endpoint.path });
  const peer = formatEndpoint(endpoint);
  const opened = once(socket, 'connect').then(
    () => new StreamChannel({ readable: socket, writable: socket, peer, maxMessageBytes, clock }),
    (error: unknown) => {
      throw new ConnectError(`could not connect to ${peer}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    },
  );
  return { opened, giveUp: () => socket.destroy() };
}

async function connectWebSocket(endpoint: WebSocketEndpoint, options: OpenChannelOptions): Promise<Attempt> {
  const { headers = {}, ca, maxMessageBytes, clock = systemClock } = options;
  const { WebSocket } = await import('ws');
  const peer = formatEndpoint(endpoint);
  const socket = new WebSocket(peer, { headers, ca, perMessageDeflate: false, maxPayload: maxMessageBytes });
  const refused = deferred<never>();
  socket.on('unexpected-response', (_request, response) => {
    void refusalIn(response).then((text) =>
      refused.reject(new ConnectError(`${peer} refused the connection: ${text}`, { status: response.statusCode })),
    );
  });
  const opened = openWebSocketChannel(socket, { peer, maxHeldBytes: maxMessageBytes, clock });
  return { opened: Promise.race([opened, refused.promise]), giveUp: () => socket.terminate() };
}

/** The status, and as much of the text as is worth showing. */
async function refusalIn(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part: string) => (text = (text + part).slice(0, refusalTextLength)));
  await new Promise((resolve) => response.once('close', resolve));
  return `${response.statusCode ?? 0} ${text}`.trim();
}
