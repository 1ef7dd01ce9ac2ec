// Accepts WebSocket connections and passes on each as a Channel once `authorize` has admitted it. Connections that begin with any other
// request are handed to node:http for good. Loads node:tls only when it is used.

import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { type Clock, systemClock, type Timer } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError, formatEndpoint, type WebSocketEndpoint } from './endpoint.js';
import { type Answering, answerAndClose, type HttpAnswer, plainAnswer, type Refusal } from './http-answer.js';
import { httpDeadlines, serveHttp } from './http-connection.js';
import type { RequestHead } from './http-head.js';
import { probeWhenIdle } from './keep-alive.js';
import { bind, type CloseOptions, type ConnectionShares, Listening } from './listening.js';
import { awaitHead } from './request-head.js';
import { isUpgrade, problemWithUpgrade, upgradeAnswer } from './websocket-handshake.js';
import { WebSocketChannel } from './websocket-channel.js';

/** Often enough to keep proxies from dropping idle connections, and as often as Codex pings. */
const defaultPingMs = 30_000;

/** The identity of an admitted peer, and the offered subprotocol to send back, if any. */
export interface Admission<Identity> {
  readonly ok: true;
  readonly identity: Identity;
  readonly subprotocol?: string | undefined;
}

export interface WebSocketListenerOptions<Identity> extends ConnectionShares {
  readonly endpoint: WebSocketEndpoint;
  /** PEM; required if and only if the endpoint is secure. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  /** Longer messages close the connection with code 1009. */
  readonly maxMessageBytes: number;
  /**
   * When a connection stops counting as unauthenticated: with its upgrade, or, where `authorize` admits every peer, when the owner of its
   * channel calls `admit`. `onUpgrade` when absent.
   */
  readonly admission?: 'onUpgrade' | 'byOwner';
  /** Called for every upgrade before any other check; `address` is the peer's, without its port. */
  authorize(request: RequestHead, address: string): Admission<Identity> | Refusal;
  /** Answers every request that is not an upgrade, also at the path /, without authorization. When absent, a fixed text is sent. */
  readonly answer?: (request: RequestHead, address: string) => Answering;
  /** Takes ownership of the channel; nothing is delivered before it has a listener. `admit` closes the channel when there is no room. */
  onChannel(channel: Channel, identity: Identity, admit: () => void): void;
  readonly pingMs?: number;
  /** A peer that has shown no sign of life for this long after a ping is cut off. */
  readonly silentMs: number;
  readonly clock?: Clock;
}

/** Rejects with an EndpointError when the address cannot be listened on. */
export async function listenWebSocket<Identity>(options: WebSocketListenerOptions<Identity>): Promise<WebSocketListener> {
  const { endpoint, answer, clock = systemClock } = options;
  const server = await createServer(options);
  const listening = new Listening<WebSocketChannel>(server, clock, options);
  server.on(endpoint.isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
    awaitHead(socket, clock, (request, bytes, head) => {
      // CONNECT would leave HTTP like an upgrade does, so it is refused like one.
      if (!isUpgrade(request) && request.method !== 'CONNECT') {
        if (answer === undefined) return answerAndClose(socket, onlyWebSocketAnswer(request), clock.now());
        const answerPlain = (later: RequestHead): Answering =>
          isUpgrade(later) ? lateUpgrade : answer(later, addressOf(socket));
        return void serveHttp(socket, bytes, { clock, answer: answerPlain });
      }
      const verdict = judge(request, options.authorize(request, addressOf(socket)), listening);
      if (!verdict.ok) return answerAndClose(socket, plainAnswer(verdict.status, verdict.text, verdict.headers), clock.now());
      socket.write(upgradeAnswer(request, verdict.subprotocol));
      probeWhenIdle(socket);
      const { maxMessageBytes } = options;
      const role = { kind: 'server' } as const;
      const channel = new WebSocketChannel({ socket, role, head, peer: peerOf(socket), maxMessageBytes, clock });
      listening.add(channel);
      const admit = (): void => {
        if (!listening.admit(socket)) channel.close(listening.noRoom);
      };
      if (options.admission !== 'byOwner') admit();
      options.onChannel(channel, verdict.identity, admit);
    });
  });
  await bind(server, formatEndpoint(endpoint), { host: endpoint.host, port: endpoint.port });
  return new WebSocketListener({ ...endpoint, port: portOf(server) }, listening, startPinging(listening, options));
}

export class WebSocketListener {
  /** Contains the actual port, even when the system chose it. */
  readonly endpoint: WebSocketEndpoint;
  readonly #listening: Listening<WebSocketChannel>;
  readonly #pinging: Timer;

  constructor(endpoint: WebSocketEndpoint, listening: Listening<WebSocketChannel>, pinging: Timer) {
    this.endpoint = endpoint;
    this.#listening = listening;
    this.#pinging = pinging;
  }

  /** `ws://IP:PORT` */
  get url(): string {
    return formatEndpoint(this.endpoint);
  }

  /** Stops accepting connections; resolves when all are closed. */
  async close(options: CloseOptions): Promise<void> {
    this.#pinging.cancel();
    await this.#listening.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ graceMs: 0 });
  }
}

async function createServer({ endpoint, tls }: Pick<WebSocketListenerOptions<never>, 'endpoint' | 'tls'>): Promise<Server> {
  if (!endpoint.isSecure) return createTcpServer({ noDelay: true });
  if (tls === undefined) throw new EndpointError(`listening on ${formatEndpoint(endpoint)} needs a certificate and its key`);
  const { createServer: createTlsServer } = await import('node:tls');
  const { cert, key } = tls;
  const server = createTlsServer({
    cert,
    key,
    handshakeTimeout: httpDeadlines.headMs,
    noDelay: true,
    ALPNProtocols: ['http/1.1'],
  });
  return server.on('tlsClientError', (_error, socket) => void socket.destroy());
}

/** Decides whether a request may become a WebSocket, or how it is refused. */
function judge<Identity>(
  request: RequestHead,
  verdict: Admission<Identity> | Refusal,
  listening: Listening<WebSocketChannel>,
): Admission<Identity> | Refusal {
  if (!verdict.ok) return verdict;
  if (pathOf(request) !== '/') return { ok: false, status: 404, text: onlyWebSocket };
  if (listening.isClosing) return { ok: false, status: 503, text: 'the server is stopping' };
  if (listening.isFull) return { ok: false, status: 503, text: listening.noRoom };
  return problemWithUpgrade(request) ?? verdict;
}

function startPinging(
  listening: Listening<WebSocketChannel>,
  {
    clock = systemClock,
    pingMs = defaultPingMs,
    silentMs,
  }: Pick<WebSocketListenerOptions<unknown>, 'clock' | 'pingMs' | 'silentMs'>,
): Timer {
  const maxUnanswered = Math.max(Math.ceil(silentMs / pingMs), 1);
  let timer = clock.afterIdle(pingMs, pingAll);
  function pingAll(): void {
    for (const channel of listening.channels) channel.ping(maxUnanswered);
    timer = clock.afterIdle(pingMs, pingAll);
  }
  return { cancel: () => timer.cancel() };
}

/** The bytes after an upgrade request are not HTTP, so the connection is closed. */
const lateUpgrade = plainAnswer(400, 'a WebSocket upgrade must be the first request', { connection: 'close' });

const onlyWebSocket = 'only a WebSocket is served here, at the path /';

function onlyWebSocketAnswer(request: RequestHead): HttpAnswer {
  return plainAnswer(pathOf(request) === '/' ? 400 : 404, onlyWebSocket);
}

function pathOf({ url }: RequestHead): string | undefined {
  return url.split('?', 1)[0];
}

function addressOf({ remoteAddress = 'unknown' }: Socket): string {
  return remoteAddress;
}

function peerOf(socket: Socket): string {
  const address = addressOf(socket);
  return `${address.includes(':') ? `[${address}]` : address}:${socket.remotePort ?? 0}`;
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
