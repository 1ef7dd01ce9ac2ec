// Pairs of channels of every kind, over real sockets where the kind has sockets.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { deferred } from '#src/base/deferred.js';
import type { Channel } from '#src/rpc/channel.js';
import { openChannel } from '#src/transport/connect.js';
import { parseConnectUrl } from '#src/transport/endpoint.js';
import { createMemoryChannels } from '#src/transport/memory-channel.js';
import { StreamChannel } from '#src/transport/stream-channel.js';
import { listenUnix } from '#src/transport/unix-listener.js';
import { type WebSocketLike, openBrowserWebSocketChannel } from '#src/transport/browser-websocket-channel.js';
import { type WebSocketListenerOptions, listenWebSocket } from '#src/transport/websocket-listener.js';
import type { ChannelPair } from './channel-contract.js';

export const maxMessageBytes = 16 * 1024 * 1024;

export const loopback = { kind: 'websocket', isSecure: false, host: '127.0.0.1', port: 0 } as const;

/** Admits every client, on a free port. */
export const openDoor: Omit<WebSocketListenerOptions<string>, 'onChannel'> = {
  endpoint: loopback,
  maxMessageBytes,
  maxConnections: 10,
  maxUnauthenticated: 10,
  silentMs: 60_000,
  authorize: () => ({ ok: true, identity: 'anybody' }),
};

const clientOptions = { maxMessageBytes, timeoutMs: 10_000 };

export async function memoryPair(): Promise<ChannelPair> {
  return pairOf(createMemoryChannels(), async () => {});
}

/** As between a program and its child: two one-way streams. */
export async function standardStreamsPair(): Promise<ChannelPair> {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const ends = [
    new StreamChannel({ readable: back, writable: there, peer: 'child', maxMessageBytes }),
    new StreamChannel({ readable: there, writable: back, peer: 'parent', maxMessageBytes }),
  ] as const;
  return pairOf(ends, async () => {});
}

export async function unixPair(): Promise<ChannelPair> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sluice-'));
  const accepted = deferred<Channel>();
  const endpoint = { kind: 'unix', path: path.join(folder, 's') } as const;
  const listener = await listenUnix({
    endpoint,
    maxMessageBytes,
    maxConnections: 1,
    maxUnauthenticated: 1,
    onChannel: (channel) => accepted.resolve(channel),
  });
  const client = await openChannel(endpoint, clientOptions);
  return pairOf([client, await accepted.promise], async () => {
    await listener.close({ graceMs: 0 });
    rmSync(folder, { recursive: true });
  });
}

export async function webSocketPair(): Promise<ChannelPair> {
  return webSocketPairOver((url) => openChannel(parseConnectUrl(url), clientOptions));
}

/** The client as in a browser, with nothing but the standard API. */
export async function plainWebSocketPair(connect: (url: string) => WebSocketLike): Promise<ChannelPair> {
  return webSocketPairOver(async (url) =>
    openBrowserWebSocketChannel(connect(url), { peer: url, maxHeldBytes: maxMessageBytes }),
  );
}

async function webSocketPairOver(connect: (url: string) => Promise<Channel>): Promise<ChannelPair> {
  const accepted = deferred<Channel>();
  const listener = await listenWebSocket({ ...openDoor, onChannel: (channel) => accepted.resolve(channel) });
  const client = await connect(listener.url);
  return pairOf([client, await accepted.promise], () => listener.close({ graceMs: 0 }));
}

function pairOf(ends: readonly [Channel, Channel], cleanUp: () => Promise<void>): ChannelPair {
  return {
    ends,
    async [Symbol.asyncDispose]() {
      for (const end of ends) end.close();
      await cleanUp();
      await Promise.all(ends.map((end) => end.closed));
    },
  };
}
