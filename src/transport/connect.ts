// Opens a Channel to a server that is already listening. Loads node:http only for addresses that need it.

import { once } from 'node:events';
import { connect } from 'node:net';
import { type Clock, systemClock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import type { Channel } from '../rpc/channel.js';
import { ConnectError } from './connect-error.js';
import { type ConnectEndpoint, formatEndpoint, type UnixEndpoint, type WebSocketEndpoint } from './endpoint.js';
import { StreamChannel } from './stream-channel.js';
import { type Attempt, requestWebSocket } from './websocket-request.js';

export interface OpenChannelOptions {
  /** Sent with the WebSocket upgrade; this is where a token goes. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM of the certificate authority to trust instead of the default ones. */
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
  return requestWebSocket(endpoint, { headers, ca, maxMessageBytes, clock });
}
