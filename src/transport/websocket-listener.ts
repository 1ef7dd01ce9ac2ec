// Accepts WebSocket connections and hands each on as a Channel, once `authorize` has let it in. Connections that begin with any other request
// are handed to Node's HTTP, and stay there. Loads Node's TLS only when it is used.

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

/** Often enough to keep proxies from forgetting a connection, and as often as Codex does. */
const defaultPingMs = 30_000;

/** Who came in, and the subprotocol to be sent back if one of those offered is to be. */
export interface Admission<Identity> {
  readonly ok: true;
  readonly identity: Identity;
  readonly subprotocol?: string | undefined;
}

export interface WebSocketListenerOptions<Identity> extends ConnectionShares {
  readonly endpoint: WebSocketEndpoint;
  /** PEM; needed exactly when the endpoint is secure. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer } | undefined;
  /** A longer message closes its connection with code 1009. */
  readonly maxMessageBytes: number;
  /**
   * When a connection stops being one of an unauthenticated peer: with its upgrade, or, where `authorize` lets everybody in, when the
   * owner of its channel calls `admit`. The first when absent.
   */
  readonly admission?: 'onUpgrade' | 'byOwner';
  /** Asked about every upgrade before anything else is looked at; `address` is the peer's, without its port. */
  authorize(request: RequestHead, address: string): Admission<Identity> | Refusal;
  /** Answers what is no upgrade, at the path / too; it was not authorized. Without it, one answer says what is here and closes. */
  readonly answer?: (request: RequestHead, address: string) => Answering;
  /** Owns the channel from then on; nothing arrives before it listens. `admit` closes the channel when there is no room. */
  onChannel(channel: Channel, identity: Identity, admit: () => void): void;
  readonly pingMs?: number;
  /** A peer that has given no sign of life for this long after a ping is cut off. */
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
      // A CONNECT leaves HTTP like an upgrade, and is refused like one.
      if (!isUpgrade(request) && request.method !== 'CONNECT') {
        if (answer === undefined) return answerAndClose(socket, tellWhatIsHere(request), clock.now());
        const answerPlain = (asked: RequestHead): Answering =>
          isUpgrade(asked) ? lateUpgrade : answer(asked, addressOf(socket));
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
  /** With the port the system chose. */
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

/** Whether a request may become a WebSocket, and how it is refused when not. */
function judge<Identity>(
  request: RequestHead,
  verdict: Admission<Identity> | Refusal,
  listening: Listening<WebSocketChannel>,
): Admission<Identity> | Refusal {
  if (!verdict.ok) return verdict;
  if (pathOf(request) !== '/') return { ok: false, status: 404, text: whatIsHere };
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

/** What follows an upgrade is no HTTP, so the connection ends with it. */
const lateUpgrade = plainAnswer(400, 'a WebSocket begins with the first request of its connection', { connection: 'close' });

const whatIsHere = 'there is a WebSocket at the path / and nothing else';

function tellWhatIsHere(request: RequestHead): HttpAnswer {
  return plainAnswer(pathOf(request) === '/' ? 400 : 404, whatIsHere);
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
