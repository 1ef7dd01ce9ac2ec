// Accepts WebSocket connections and hands each on as a Channel, after somebody else has said who may come in. Plain HTTP requests go to
// somebody else, too. Loads `ws` and Node's HTTP only when it is used.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type Clock, systemClock, type Timer } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError, formatEndpoint, type WebSocketEndpoint } from './endpoint.js';
import { refuseUpgrade, type Refusal } from './http-refusal.js';
import { bind, type CloseOptions, Listening } from './listening.js';
import { WebSocketServerChannel } from './websocket-server-channel.js';

/** Often enough to keep proxies from forgetting a connection, and as often as Codex does. */
const defaultPingMs = 30_000;

/** Connections beyond the channels: plain requests, handshakes under way, and those that are told that there is no room. */
const spareConnections = 64;

/** Longest a client may take over a TLS handshake or the headers of a request. */
const handshakeMs = 10_000;

/** Who came in, and the subprotocol to be sent back if one of those offered is to be. */
export interface Admission<Identity> {
  readonly ok: true;
  readonly identity: Identity;
  readonly subprotocol?: string | undefined;
}

export interface WebSocketListenerOptions<Identity> {
  readonly endpoint: WebSocketEndpoint;
  /** PEM; needed exactly when the endpoint is secure. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  /** A longer message closes its connection with code 1009. */
  readonly maxMessageBytes: number;
  readonly maxConnections: number;
  /** Asked about every upgrade before anything else is looked at. */
  authorize(request: IncomingMessage): Admission<Identity> | Refusal;
  /** Answers what is no upgrade, at the path / too; it was not authorized. Without it, all of them are told what is here. */
  onRequest?(request: IncomingMessage, response: ServerResponse): void;
  /** Owns the channel from then on; nothing arrives before it listens. */
  onChannel(channel: Channel, identity: Identity): void;
  /** A peer that has given no sign of life by the next ping is cut off. */
  readonly pingMs?: number;
  readonly clock?: Clock;
}

/** Rejects with an EndpointError when the address cannot be listened on. */
export async function listenWebSocket<Identity>(options: WebSocketListenerOptions<Identity>): Promise<WebSocketListener> {
  const { endpoint, clock = systemClock, pingMs = defaultPingMs } = options;
  const [server, upgrade] = await Promise.all([createServer(options), createUpgrade(options.maxMessageBytes)]);
  const listening = new Listening<WebSocketServerChannel>(server, clock);
  server.maxConnections = options.maxConnections + spareConnections;
  server.on('request', options.onRequest?.bind(options) ?? tellWhatIsHere);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const verdict = options.authorize(request);
    if (!verdict.ok) return refuseUpgrade(socket, verdict);
    if (pathOf(request) !== '/') return refuseUpgrade(socket, { status: 404, text: whatIsHere });
    if (listening.isClosing) return refuseUpgrade(socket, { status: 503, text: 'the server is stopping' });
    if (listening.channels.size >= options.maxConnections) {
      return refuseUpgrade(socket, { status: 503, text: `all ${options.maxConnections} connections are in use` });
    }
    upgrade({ request, socket, head, subprotocol: verdict.subprotocol }, (webSocket) => {
      const channel = new WebSocketServerChannel({ webSocket, socket, peer: peerOf(request), clock });
      listening.add(channel);
      options.onChannel(channel, verdict.identity);
    });
  });
  await bind(server, formatEndpoint(endpoint), { host: endpoint.host, port: endpoint.port });
  return new WebSocketListener({ ...endpoint, port: portOf(server) }, listening, startPinging(listening, clock, pingMs));
}

export class WebSocketListener {
  /** With the port the system chose. */
  readonly endpoint: WebSocketEndpoint;
  readonly #listening: Listening<WebSocketServerChannel>;
  readonly #pinging: Timer;

  constructor(endpoint: WebSocketEndpoint, listening: Listening<WebSocketServerChannel>, pinging: Timer) {
    this.endpoint = endpoint;
    this.#listening = listening;
    this.#pinging = pinging;
  }

  /** `ws://IP:PORT` */
  get url(): string {
    return formatEndpoint(this.endpoint);
  }

  /** Accepts nothing from now on; resolves when every connection is gone. */
  async close(options: CloseOptions): Promise<void> {
    this.#pinging.cancel();
    await this.#listening.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ graceMs: 0 });
  }
}

async function createServer({ endpoint, tls }: Pick<WebSocketListenerOptions<never>, 'endpoint' | 'tls'>): Promise<Server> {
  const timeouts = { headersTimeout: handshakeMs, requestTimeout: handshakeMs };
  if (!endpoint.isSecure) {
    const http = await import('node:http');
    return http.createServer(timeouts);
  }
  if (tls === undefined) throw new EndpointError(`listening on ${formatEndpoint(endpoint)} needs a certificate and its key`);
  const https = await import('node:https');
  return https.createServer({ ...timeouts, handshakeTimeout: handshakeMs, cert: tls.cert, key: tls.key });
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly subprotocol: string | undefined;
}

/** Completes a handshake, or refuses a malformed one. */
async function createUpgrade(maxMessageBytes: number): Promise<(upgrade: Upgrade, done: (webSocket: WebSocket) => void) => void> {
  const { WebSocketServer } = await import('ws');
  let subprotocol: string | undefined;
  const upgrader = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false, // the channel answers pings
    maxPayload: maxMessageBytes,
    handleProtocols: () => subprotocol ?? false, // left to itself, `ws` sends back the first one offered, which may hold a token
  });
  return (upgrade, done) => {
    subprotocol = upgrade.subprotocol;
    upgrader.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, done); // calls back before it returns, or never
  };
}

function startPinging(listening: Listening<WebSocketServerChannel>, clock: Clock, pingMs: number): Timer {
  let timer = clock.afterIdle(pingMs, pingAll);
  function pingAll(): void {
    for (const channel of listening.channels) channel.ping();
    timer = clock.afterIdle(pingMs, pingAll);
  }
  return { cancel: () => timer.cancel() };
}

const whatIsHere = 'there is a WebSocket at the path / and nothing else';

function tellWhatIsHere(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(pathOf(request) === '/' ? 400 : 404, { 'content-type': 'text/plain; charset=utf-8' }).end(whatIsHere);
}

function pathOf({ url = '' }: IncomingMessage): string | undefined {
  return url.split('?', 1)[0];
}

function peerOf({ socket: { remoteAddress = 'unknown', remotePort } }: IncomingMessage): string {
  return `${remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress}:${remotePort ?? 0}`;
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
