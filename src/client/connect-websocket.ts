// Connects wherever there is a global WebSocket, mainly in browsers. Browsers cannot set headers, so the token is sent as a subprotocol.

import { type Clock, systemClock } from '../base/clock.js';
import { encodeBase64 } from '../protocol/index.js';
import { bearerSubprotocolPrefix, subprotocol } from '../protocol/version.js';
import type { Channel } from '../rpc/channel.js';
import { type WebSocketLike, openBrowserWebSocketChannel } from '../transport/browser-websocket-channel.js';
import type { Client } from './client.js';
import { type ConnectOptions, connectOver, defaultTimeouts } from './connect.js';
import { Token } from './token.js';

/** Limit for bytes held while the client does not read, since a browser's WebSocket cannot be paused. The server stays far below it. */
const heldBytes = 256 * 1024 * 1024;

/** Rejects when the server cannot be reached, refuses, or does not answer in time. Lost connections are reopened. */
export function connectWebSocket(url: string, options: ConnectOptions = {}): Promise<Client> {
  const clock = options.clock ?? systemClock;
  const timeoutMs = options.timeouts?.connectMs ?? defaultTimeouts.connectMs;
  const token = new Token(options.token, { clock, timeoutMs });
  const open = async () => openChannel(url, await token.fresh(), { clock, timeoutMs });
  return connectOver({ open, again: 'possible' }, options);
}

async function openChannel(
  url: string,
  token: string | undefined,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<Channel> {
  const socket = new (webSocketConstructor())(
    url,
    token === undefined ? [] : [subprotocol, bearerSubprotocolPrefix + base64url(token)],
  );
  const impatience = clock.after(timeoutMs, () => socket.close());
  try {
    return await openBrowserWebSocketChannel(socket, { peer: url, maxHeldBytes: heldBytes, clock });
  } finally {
    impatience.cancel();
  }
}

type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

function webSocketConstructor(): WebSocketConstructor {
  const { WebSocket: found } = globalThis as { readonly WebSocket?: WebSocketConstructor };
  if (found === undefined) throw new Error('this runtime has no WebSocket; on Node before 22 use connect from "sluice"');
  return found;
}

function base64url(text: string): string {
  return encodeBase64(new TextEncoder().encode(text)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
