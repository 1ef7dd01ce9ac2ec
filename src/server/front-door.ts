// Composes everything a server listens on: the endpoints, the gate in front of them, plain HTTP, and how they all close.

import { readFileSync } from 'node:fs';
import type { Logger } from '../base/logger.js';
import type { ListenEndpoint, UnixEndpoint, WebSocketEndpoint } from '../transport/endpoint.js';
import type { Answering } from '../transport/http-answer.js';
import type { RequestHead } from '../transport/http-head.js';
import { listenUnix } from '../transport/unix-listener.js';
import { listenWebSocket } from '../transport/websocket-listener.js';
import {
  type CredentialSource,
  type Credentials,
  type Gate,
  type Verdict,
  createGate,
  loadCredentials,
  requireSafeBind,
} from './auth/index.js';
import { answerHttp } from './http-front.js';
import type { ServerMetrics } from './metrics.js';
import { RefusalLog } from './refusal-log.js';
import type { Server } from './server.js';
import { anybody } from './session-table.js';

export interface FrontDoorOptions {
  /** WebSocket and Unix endpoints. */
  readonly listen: readonly Exclude<ListenEndpoint, { kind: 'stdio' }>[];
  readonly credentials: CredentialSource;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly metricsAccess: 'guarded' | 'open';
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
}

interface Listener {
  readonly url: string;
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** How long the server may take to end its sessions and close their connections. More than it ever needs. */
const closeGraceMs = 20_000;

export class FrontDoor {
  readonly #server: Server;
  readonly #options: FrontDoorOptions;
  readonly #credentials: Credentials;
  readonly #listeners: Listener[] = [];
  readonly #refusals: RefusalLog;

  private constructor(server: Server, options: FrontDoorOptions, credentials: Credentials) {
    this.#server = server;
    this.#options = options;
    this.#credentials = credentials;
    this.#refusals = new RefusalLog({ clock: server.clock, logger: options.logger, metrics: options.metrics });
  }

  /** Opens every endpoint or none; rejects with the error of the first that cannot be opened. */
  static async open(server: Server, options: FrontDoorOptions): Promise<FrontDoor> {
    for (const endpoint of options.listen) requireSafeBind(endpoint, options.credentials);
    const door = new FrontDoor(server, options, await loadCredentials(options.credentials));
    try {
      // Each call accepts exactly one kind, so a new kind does not compile until it is handled.
      for (const endpoint of options.listen) {
        door.#listeners.push(endpoint.kind === 'unix' ? await door.#listenUnix(endpoint) : await door.#listenWebSocket(endpoint));
      }
    } catch (error) {
      await door.close();
      throw error;
    }
    return door;
  }

  /** Where clients connect, in the order of the endpoints. */
  get urls(): string[] {
    return this.#listeners.map(({ url }) => url);
  }

  /** Stops accepting connections, and closes the open ones after a grace period. */
  async close(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close({ graceMs: closeGraceMs })));
    this.#refusals.flush();
  }

  #listenUnix(endpoint: UnixEndpoint): Promise<Listener> {
    const { maxConnections, maxUnauthenticated, maxMessageBytes } = this.#server.limits;
    // The socket has mode 0600, so only the user the server runs as can open it.
    return listenUnix({
      endpoint,
      maxConnections,
      maxUnauthenticated,
      maxMessageBytes,
      onCutOff: () => this.#options.metrics.cutOff(),
      onChannel: (channel, onGreeted) => this.#server.accept(channel, anybody, onGreeted),
    });
  }

  async #listenWebSocket(endpoint: WebSocketEndpoint): Promise<Listener> {
    const { tls } = this.#options;
    const { maxConnections, maxUnauthenticated, maxMessageBytes, silentClientMs } = this.#server.limits;
    // The gate needs the bound port, which is known only after listening; no request arrives before that.
    let gate = this.#gateAt(endpoint);
    const listener = await listenWebSocket({
      endpoint,
      tls: tls === undefined ? undefined : { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
      maxConnections,
      maxUnauthenticated,
      maxMessageBytes,
      silentMs: silentClientMs,
      clock: this.#server.clock,
      onCutOff: () => this.#options.metrics.cutOff(),
      admission: this.#credentials.kind === 'none' ? 'byOwner' : 'onUpgrade',
      authorize: (request, address) => this.#recorded(gate.authorize(request), address),
      answer: (request, address) => this.#answer(gate, request, address),
      onChannel: (channel, identity, onGreeted) => this.#server.accept(channel, identity, onGreeted),
    });
    gate = this.#gateAt(listener.endpoint);
    return listener;
  }

  #gateAt(bind: WebSocketEndpoint): Gate {
    const { allowedOrigins, allowedHosts } = this.#options;
    return createGate({ credentials: this.#credentials, bind, allowedOrigins, allowedHosts, clock: this.#server.clock });
  }

  #recorded(verdict: Verdict, address: string): Verdict {
    if (!verdict.ok) this.#refusals.add({ address, status: verdict.status, problem: verdict.text });
    return verdict;
  }

  #answer(gate: Gate, request: RequestHead, address: string): Answering {
    const { metrics, metricsAccess } = this.#options;
    const verdict = gate.authorize(request);
    const answer = answerHttp(
      { ...request, verdict },
      {
        phase: this.#server.isClosing ? 'draining' : 'ready',
        metricsAccess,
        metricsText: () => metrics.text(this.#server.gauges()),
      },
    );
    // Health checks are answered even if the gate refuses, and are then not recorded. A refusal is always answered synchronously.
    if (!verdict.ok && 'status' in answer && answer.status === verdict.status) this.#recorded(verdict, address);
    return answer;
  }
}
