// A Node server from its first moment to its last: bound or refused with a reason, its channels counted, and closed with a grace.

import { isIP, type ListenOptions, type Server, type Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError } from './endpoint.js';

/** A channel whose end need not wait for the peer. */
export interface ServedChannel extends Channel {
  destroy(problem: string): void;
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
      if (!listenDirectly(server, options)) server.listen(options);
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
 * For an address and a port, what Node does in the end. On its way there it asks the resolver about the address and loads the cluster,
 * and with it what starts processes: 3 ms of every start, and for nothing outside of a cluster. False where it cannot be done.
 */
function listenDirectly(server: Server, { host, port }: ListenOptions): boolean {
  const isInCluster = process.env['NODE_UNIQUE_ID'] !== undefined;
  if (host === undefined || port === undefined || isIP(host) === 0 || isInCluster) return false;
  if (!('_listen2' in server) || typeof server._listen2 !== 'function') return false;
  Reflect.apply(server._listen2, server, [host, port, isIP(host), backlog]);
  return true;
}

export class Listening<Served extends ServedChannel> {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #channels = new Set<Served>();
  /** Every connection, whether it has become a channel or not. */
  readonly #sockets = new Set<Socket>();
  #closing: Promise<void> | undefined;

  constructor(server: Server, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
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
