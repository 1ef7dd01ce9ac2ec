// A Node server from its first moment to its last: bound or refused with a reason, its connections counted, and closed with a grace.
// Connections of unknown peers have a share of their own, so that they cannot keep known ones out.

import type { ListenOptions, Server, Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError } from './endpoint.js';

/** A channel whose end need not wait for the peer. */
export interface ServedChannel extends Channel {
  destroy(problem: string): void;
}

export interface ConnectionShares {
  /** Connections of peers that were admitted. */
  readonly maxConnections: number;
  /** Connections of peers that have not shown who they are. When there are more, the oldest are cut off. */
  readonly maxUnauthenticated: number;
  /** Called for each connection that is cut off for this. */
  readonly onCutOff?: () => void;
}

export interface CloseOptions {
  /** How long channels may go on, for their owner to close them in good order; what is left then is cut off. */
  readonly graceMs: number;
}

/** Resolves when connections are accepted. Rejects with an EndpointError. */
export async function bind(server: Server, url: string, options: ListenOptions): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.once('listening', () => {
        server.off('error', reject);
        resolve();
      });
      server.listen(options);
    });
  } catch (error) {
    throw new EndpointError(`cannot listen on ${url}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** How many connections may wait to be accepted, as Node has it. */
const backlog = 511;

/**
 * Connections beyond both shares for a moment, before the oldest are cut off: a few rounds of a full backlog. More are dropped as they come.
 */
const burst = 4 * backlog;

export class Listening<Served extends ServedChannel> {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #shares: ConnectionShares;
  readonly #channels = new Set<Served>();
  /** Every connection, whether it has become a channel or not. */
  readonly #sockets = new Set<Socket>();
  /** Connections whose peers have not shown who they are, the oldest first. */
  readonly #unauthenticated = new Set<Socket>();
  readonly #admitted = new Set<Socket>();
  #isTrimming = false;
  #closing: Promise<void> | undefined;

  constructor(server: Server, clock: Clock, shares: ConnectionShares) {
    this.#server = server;
    this.#clock = clock;
    this.#shares = shares;
    server.maxConnections = shares.maxConnections + shares.maxUnauthenticated + burst;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      this.#unauthenticated.add(socket);
      socket.once('close', () => this.#forget(socket));
      this.#trimSoon();
    });
  }

  /** What a peer is told that cannot be admitted. */
  get noRoom(): string {
    return `all ${this.#shares.maxConnections} connections are in use`;
  }

  /** No connection can be admitted now. */
  get isFull(): boolean {
    return this.#admitted.size >= this.#shares.maxConnections;
  }

  /** The peer of this connection has shown who it is; nothing but itself ends the connection now. False when there is no room. */
  admit(socket: Socket): boolean {
    // Of a TLS connection, the server announces the encrypted socket, and the peer is known by another one on top of it.
    const unauthenticated = this.#unauthenticated.has(socket)
      ? socket
      : [...this.#unauthenticated].find((each) => isSameConnection(each, socket));
    if (unauthenticated === undefined) return true; // admitted before, or gone
    if (this.isFull) return false;
    this.#unauthenticated.delete(unauthenticated);
    this.#admitted.add(unauthenticated);
    return true;
  }

  get channels(): ReadonlySet<Served> {
    return this.#channels;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  add(channel: Served): void {
    this.#channels.add(channel);
    void channel.closed.then(() => this.#channels.delete(channel));
  }

  /** Accepts nothing from now on. Resolves when every connection is gone. Closing twice is fine; the first grace counts. */
  close(options: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  #forget(socket: Socket): void {
    this.#sockets.delete(socket);
    this.#unauthenticated.delete(socket);
    this.#admitted.delete(socket);
  }

  /**
   * Cuts off the oldest beyond the share, but only after one whole turn of the event loop: what new connections have sent already is read
   * by then, so that many clients that come at once do not push each other out.
   */
  #trimSoon(): void {
    if (this.#isTrimming || this.#unauthenticated.size <= this.#shares.maxUnauthenticated) return;
    this.#isTrimming = true;
    setImmediate(() =>
      setImmediate(() => {
        this.#isTrimming = false;
        for (const socket of this.#unauthenticated) {
          if (this.#unauthenticated.size <= this.#shares.maxUnauthenticated) return;
          this.#unauthenticated.delete(socket);
          socket.destroy();
          this.#shares.onCutOff?.();
        }
      }),
    );
  }

  async #close({ graceMs }: CloseOptions): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const cutOff = this.#clock.after(graceMs, () => {
      for (const channel of this.#channels) channel.destroy('the server has stopped');
      for (const socket of this.#sockets) socket.destroy();
    });
    await Promise.all([...this.#channels].map((channel) => channel.closed));
    const gone = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([stopped, ...gone]); // the server has stopped a little before the last of its connections says so
    cutOff.cancel();
  }
}

function isSameConnection(one: Socket, other: Socket): boolean {
  const isKnown = one.remotePort !== undefined;
  return (
    isKnown &&
    one.remotePort === other.remotePort &&
    one.remoteAddress === other.remoteAddress &&
    one.localAddress === other.localAddress
  );
}
