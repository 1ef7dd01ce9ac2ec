// The life of a listening Node server: binds it or explains why it cannot, counts its connections, and closes it with a grace period.
// Unauthenticated connections have a separate limit, so that they cannot keep authenticated peers out.

import type { ListenOptions, Server, Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError } from './endpoint.js';

/** A channel that can be closed without waiting for the peer. */
export interface ServedChannel extends Channel {
  destroy(problem: string): void;
}

export interface ConnectionShares {
  /** Limit for connections of admitted peers. */
  readonly maxConnections: number;
  /** Limit for connections of unauthenticated peers. When there are more, the oldest are cut off. */
  readonly maxUnauthenticated: number;
  /** Called for each connection that is cut off because of this limit. */
  readonly onCutOff?: () => void;
}

export interface CloseOptions {
  /** How long the owner of the channels has to close them in good order; the remaining connections are then cut off. */
  readonly graceMs: number;
}

/** Resolves when the server accepts connections. Rejects with an EndpointError. */
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

/** How many connections may wait to be accepted; Node's default. */
const backlog = 511;

/**
 * Connections allowed beyond both limits until the oldest are cut off: a few rounds of a full backlog. Further ones are dropped on arrival.
 */
const burst = 4 * backlog;

export class Listening<Served extends ServedChannel> {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #shares: ConnectionShares;
  readonly #channels = new Set<Served>();
  /** All connections, with or without a channel. */
  readonly #sockets = new Set<Socket>();
  /** Connections of unauthenticated peers, oldest first. */
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

  /** The text sent to a peer that cannot be admitted. */
  get noRoom(): string {
    return `all ${this.#shares.maxConnections} connections are in use`;
  }

  /** True while no more connections can be admitted. */
  get isFull(): boolean {
    return this.#admitted.size >= this.#shares.maxConnections;
  }

  /** Marks the peer as authenticated, which exempts its connection from being cut off. False when there is no room. */
  admit(socket: Socket): boolean {
    // For a TLS connection, the server emits the raw socket, but `socket` is the TLS socket on top of it.
    const unauthenticated = this.#unauthenticated.has(socket)
      ? socket
      : [...this.#unauthenticated].find((each) => isSameConnection(each, socket));
    if (unauthenticated === undefined) return true; // already admitted, or already closed
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

  /** Stops accepting connections. Resolves when all are closed. May be called again; the grace of the first call counts. */
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
   * Cuts off the oldest unauthenticated connections beyond their limit, but only after one full turn of the event loop: by then, what new
   * connections have already sent has been read, so many clients that connect at once do not push each other out.
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
    await Promise.all([stopped, ...gone]); // the server reports its close shortly before the last connections report theirs
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
