// Connects a client on Node: to a WebSocket, with or without TLS, or to a Unix socket. Lost connections are reopened.

import { type Client, type ConnectOptions, connectOver, defaultTimeouts } from '../client/index.js';
import { Token } from '../client/token.js';
import type { Channel } from '../rpc/channel.js';
import { ConnectError } from '../transport/connect-error.js';
import { type ConnectEndpoint, parseConnectUrl } from '../transport/endpoint.js';
import { nodePlatform } from './node-platform.js';
import { type StreamPair, channelOver } from '../transport/stream-pair.js';

/** Longest message accepted from a server: well under the longest string, and above any page of retained output that its limits allow. */
export const receivedMessageBytes = 256 * 1024 * 1024;

export interface NodeConnectOptions extends ConnectOptions {
  /** PEM of the certificate authority to trust for `wss://`, instead of the default ones. */
  readonly ca?: string | Buffer;
}

/**
 * Connects to `ws://`, `wss://` or `unix://`, or uses streams or a channel that are already open. These cannot be reopened: when they end,
 * so does the client.
 */
export async function connect(target: string | StreamPair | Channel, options: NodeConnectOptions = {}): Promise<Client> {
  if (typeof target !== 'string') {
    const channel = channelOver(target, { maxMessageBytes: receivedMessageBytes, clock: options.clock });
    return connectOver({ open: async () => channel, again: 'impossible' }, options, nodePlatform);
  }
  const endpoint = parseConnectUrl(target);
  const timeoutMs = options.timeouts?.connectMs ?? defaultTimeouts.connectMs;
  const token = new Token(options.token, { clock: options.clock, timeoutMs });
  const { openChannel } = await import('../transport/connect.js');
  const openWith = (bearer: string | undefined) => {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    return openChannel(endpoint, { headers, ca: options.ca, timeoutMs, maxMessageBytes: receivedMessageBytes });
  };
  const open = () => openWithToken(token, openWith);
  return connectOver({ open, again: 'possible', isGone: isGoneAt[endpoint.kind] }, options, nodePlatform);
}

/** Tries the last token first; when it is refused, tries once more with a fresh one if that differs. */
async function openWithToken(token: Token, open: (bearer: string | undefined) => Promise<Channel>): Promise<Channel> {
  const first = token.last ?? (await token.fresh());
  try {
    return await open(first);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    const second = await token.fresh();
    if (second === first) throw error;
    return open(second);
  }
}

/** Failures after which another attempt would fail too. */
const isGoneAt = { unix: isNotListening, websocket: isUnauthorized } satisfies Record<ConnectEndpoint['kind'], unknown>;

/** The server is reachable, and would refuse the same token again. */
function isUnauthorized(error: unknown): boolean {
  return error instanceof ConnectError && error.status === 401;
}

/** Unlike on a network, nothing between a Unix socket and its server can fail temporarily. */
function isNotListening(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && (cause.code === 'ECONNREFUSED' || cause.code === 'ENOENT');
}
