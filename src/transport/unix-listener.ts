// Listens on a Unix socket that only its owner can connect to, and passes on each connection as a Channel. Replaces the socket that a
// dead server left behind, and nothing else.

import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync, type Stats, unlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { type Clock, systemClock } from '../base/clock.js';
import type { Channel } from '../rpc/channel.js';
import { EndpointError, formatEndpoint, longestUnixPathBytes, type UnixEndpoint } from './endpoint.js';
import { bind, type CloseOptions, type ConnectionShares, Listening } from './listening.js';
import { StreamChannel } from './stream-channel.js';

export interface UnixListenerOptions extends ConnectionShares {
  readonly endpoint: UnixEndpoint;
  /** Longer messages are skipped and reported as unreadable. */
  readonly maxMessageBytes: number;
  /**
   * Takes ownership of the channel; nothing is delivered before it has a listener. The connection counts as unauthenticated until the
   * owner calls `admit`, which closes the channel when there is no room.
   */
  onChannel(channel: Channel, admit: () => void): void;
  readonly clock?: Clock;
}

/** Rejects with an EndpointError when a server already listens there, a file there is not a socket, or the folder is not writable. */
export async function listenUnix(options: UnixListenerOptions): Promise<UnixListener> {
  const { endpoint, maxMessageBytes, clock = systemClock } = options;
  // A peer that has ended its side still gets the answers to its requests; the channel then ends our side.
  const server = createServer({ allowHalfOpen: true });
  const listening = new Listening<StreamChannel>(server, clock, options);
  let count = 0;
  server.on('connection', (socket) => {
    count += 1;
    const peer = `${formatEndpoint(endpoint)} client ${count}`;
    const channel = new StreamChannel({ readable: socket, writable: socket, peer, maxMessageBytes, clock });
    listening.add(channel);
    options.onChannel(channel, () => {
      if (!listening.admit(socket)) channel.close(listening.noRoom);
    });
  });
  const stale = await findStale(endpoint);
  const stage = createStage(endpoint);
  try {
    await bind(server, formatEndpoint(endpoint), { path: stage.socket });
    chmodSync(stage.socket, 0o600);
    return new UnixListener(endpoint, listening, publish(endpoint, stage.socket, stale));
  } catch (error) {
    await listening.close({ graceMs: 0 });
    throw error;
  } finally {
    rmSync(stage.folder, { recursive: true });
  }
}

export class UnixListener {
  readonly endpoint: UnixEndpoint;
  readonly #listening: Listening<StreamChannel>;
  readonly #published: Stats;

  constructor(endpoint: UnixEndpoint, listening: Listening<StreamChannel>, published: Stats) {
    this.endpoint = endpoint;
    this.#listening = listening;
    this.#published = published;
  }

  get url(): string {
    return formatEndpoint(this.endpoint);
  }

  /** Removes the socket and stops accepting connections; resolves when all are closed. */
  async close(options: CloseOptions): Promise<void> {
    if (!this.#listening.isClosing && isSameFile(statsOf(this.endpoint.path), this.#published)) unlinkSync(this.endpoint.path);
    await this.#listening.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ graceMs: 0 });
  }
}

/** Creates a private folder next to the final path, so that no other user can connect before the socket has its mode and is moved there. */
function createStage(endpoint: UnixEndpoint): { readonly folder: string; readonly socket: string } {
  const parent = path.dirname(endpoint.path);
  const addedBytes = '/.123456/s'.length;
  if (Buffer.byteLength(parent) + addedBytes > longestUnixPathBytes) {
    throw cannotListen(endpoint, `its folder has more than ${longestUnixPathBytes - addedBytes} bytes`);
  }
  try {
    const folder = mkdtempSync(`${parent}/.`);
    chmodSync(folder, 0o700); // regardless of the umask
    return { folder, socket: path.join(folder, 's') };
  } catch (error) {
    throw cannotListen(endpoint, `nothing can be created in ${parent}`, error);
  }
}

/** Moves the socket to its final path, unless another file has appeared there since `findStale` checked. */
function publish(endpoint: UnixEndpoint, socket: string, stale: Stats | undefined): Stats {
  const current = statsOf(endpoint.path);
  if (current !== undefined && !isSameFile(current, stale)) throw cannotListen(endpoint, 'another server has just started to');
  renameSync(socket, endpoint.path);
  return lstatSync(endpoint.path);
}

/** The socket that a dead server left there, if any. */
async function findStale(endpoint: UnixEndpoint): Promise<Stats | undefined> {
  const found = statsOf(endpoint.path);
  if (found === undefined) return undefined;
  if (!found.isSocket()) throw cannotListen(endpoint, 'a file that is not a socket is in the way; it was left alone');
  const error = await connectingError(endpoint.path);
  if (error?.code === 'ENOENT') return undefined;
  if (error?.code === 'ECONNREFUSED') return found;
  throw cannotListen(
    endpoint,
    error === undefined ? 'a server is listening there already' : 'the socket there may be in use',
    error,
  );
}

function connectingError(socketPath: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const probe = connect({ path: socketPath });
    probe.once('connect', () => {
      probe.destroy();
      resolve(undefined);
    });
    probe.once('error', resolve);
  });
}

function statsOf(file: string): Stats | undefined {
  return lstatSync(file, { throwIfNoEntry: false });
}

function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

function cannotListen(endpoint: UnixEndpoint, reason: string, cause?: unknown): EndpointError {
  return new EndpointError(`cannot listen on ${formatEndpoint(endpoint)}: ${reason}`, { cause });
}
