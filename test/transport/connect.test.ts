// Opening channels: every kind of failure has its own error, and no failure leaves anything behind.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type Server, type Socket, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { deferred } from '#src/base/deferred.js';
import type { Channel } from '#src/rpc/channel.js';
import { openChannel } from '#src/transport/connect.js';
import { EndpointError, type WebSocketEndpoint } from '#src/transport/endpoint.js';
import { listenWebSocket } from '#src/transport/websocket-listener.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';
import { loopback, maxMessageBytes, openDoor } from './channel-pairs.js';
import { selfSigned } from './self-signed.js';

guardAgainstLeaks();

const options = { maxMessageBytes, timeoutMs: 10_000 };

describe('a server that', () => {
  test('refuses is quoted, with its status', async () => {
    const text = 'a token is needed';
    await using listener = await listenWebSocket({
      ...openDoor,
      authorize: () => ({ ok: false, status: 401, text }),
      onChannel() {},
    });
    await assert.rejects(openChannel(listener.endpoint, options), {
      name: 'ConnectError',
      status: 401,
      message: `${listener.url} refused the connection: 401 a token is needed`,
    });
  });

  test('refuses at length is not quoted in full', async () => {
    const text = 'no '.repeat(100_000);
    await using listener = await listenWebSocket({
      ...openDoor,
      authorize: () => ({ ok: false, status: 403, text }),
      onChannel() {},
    });
    await assert.rejects(openChannel(listener.endpoint, options), (error: Error) => error.message.length < 600);
  });

  test('does not listen is named in the error', async () => {
    const listener = await listenWebSocket({ ...openDoor, onChannel() {} });
    await listener.close({ graceMs: 0 });
    await assert.rejects(openChannel(listener.endpoint, options), {
      name: 'ConnectError',
      message: `could not connect to ${listener.url}: connect ECONNREFUSED 127.0.0.1:${listener.endpoint.port}`,
    });
    await assert.rejects(openChannel({ kind: 'unix', path: '/nowhere/s' }, options), {
      name: 'ConnectError',
      message: 'could not connect to unix:///nowhere/s: connect ENOENT /nowhere/s',
    });
  });

  test('never answers is given up on after the timeout', async () => {
    await using mute = await muteServer();
    const clock = new FakeClock();
    const opening = openChannel(mute.endpoint, { ...options, timeoutMs: 500, clock });
    const failed = assert.rejects(opening, {
      name: 'ConnectError',
      message: `no answer from ws://127.0.0.1:${mute.endpoint.port} within 500 ms`,
    });
    await mute.connected;
    await clock.advance(500);
    await failed;
    await mute.hungUp;
    assert.deepEqual(clock.pendingMs, []);
  });

  test('needs a token gets it in the headers and nowhere else', async () => {
    const seen = deferred<string>();
    await using listener = await listenWebSocket({
      ...openDoor,
      authorize({ headers, url }) {
        seen.resolve(`${url} ${String(headers['authorization'])}`);
        return { ok: true, identity: '' };
      },
      onChannel() {},
    });
    const channel = await openChannel(listener.endpoint, { ...options, headers: { authorization: 'Bearer t' } });
    assert.equal(await seen.promise, '/ Bearer t');
    assert.equal(channel.peer, listener.url);
    channel.close();
  });

  test('sends a message longer than the client accepts loses the connection', async () => {
    await using listener = await listenWebSocket({
      ...openDoor,
      onChannel(channel) {
        record(channel);
        channel.send('x'.repeat(101));
      },
    });
    const channel = await openChannel(listener.endpoint, { ...options, maxMessageBytes: 100 });
    record(channel);
    assert.deepEqual(await channel.closed, { problem: 'Max payload size exceeded' });
  });
});

describe('a caller that', () => {
  test('aborts gets its own reason as the error', async () => {
    await using mute = await muteServer();
    const reason = new Error('changed my mind');
    const controller = new AbortController();
    const opening = openChannel(mute.endpoint, { ...options, signal: controller.signal });
    const failed = assert.rejects(opening, reason);
    await mute.connected;
    controller.abort(reason);
    await failed;
    await mute.hungUp;
  });

  test('has aborted before the call opens nothing', async () => {
    await using mute = await muteServer();
    const reason = new Error('never mind');
    await assert.rejects(openChannel(mute.endpoint, { ...options, signal: AbortSignal.abort(reason) }), reason);
    assert.equal(mute.connections, 0);
  });
});

describe('TLS', () => {
  const tls = selfSigned();
  const secure = { ...loopback, isSecure: true };

  test('carries messages both ways to a client that trusts the certificate', async () => {
    const accepted = deferred<Channel>();
    await using listener = await listenWebSocket({
      ...openDoor,
      endpoint: secure,
      tls,
      onChannel: (channel) => accepted.resolve(channel),
    });
    assert.match(listener.url, /^wss:\/\/127\.0\.0\.1:\d+$/);
    const client = await openChannel(listener.endpoint, { ...options, ca: tls.cert });
    const server = await accepted.promise;
    const [atClient, atServer] = [record(client), record(server)];
    const texts = ['{}', JSON.stringify('x'.repeat(1_000_000))];
    for (const text of texts) {
      client.send(text);
      server.send(text);
    }
    server.sendBinary(Uint8Array.of(7));
    await eventually(() => assert.deepEqual(atServer.arrivals, texts));
    await eventually(() => assert.deepEqual(atClient.arrivals, [...texts, { binary: '07' }]));
    client.close();
    assert.deepEqual(await server.closed, {});
  });

  test('is refused by a client that does not', async () => {
    await using listener = await listenWebSocket({ ...openDoor, endpoint: secure, tls, onChannel() {} });
    await assert.rejects(
      openChannel(listener.endpoint, options),
      /^ConnectError: could not connect to wss:.*self-signed certificate/,
    );
  });

  test('cannot be listened for without a certificate', async () => {
    await assert.rejects(listenWebSocket({ ...openDoor, endpoint: secure, onChannel() {} }), EndpointError);
  });
});

test('neither connecting nor listening loads node:http before it is needed', () => {
  const files = ['connect', 'websocket-listener', 'unix-listener'].map((name) =>
    import.meta.resolve(`#src/transport/${name}.js`),
  );
  const script = `for (const file of ${JSON.stringify(files)}) await import(file);
    console.log(process.moduleLoadList.filter((name) => /^NativeModule (https?|tls)$/.test(name)).join());`;
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }), '\n');
});

interface MuteServer extends AsyncDisposable {
  readonly endpoint: WebSocketEndpoint;
  readonly connected: Promise<unknown>;
  /** Resolves when the first client has closed its connection. */
  readonly hungUp: Promise<unknown>;
  readonly connections: number;
}

/** Accepts connections and never sends anything. */
async function muteServer(): Promise<MuteServer> {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => sockets.push(socket.on('error', () => {}).resume()));
  const connected = once(server, 'connection') as Promise<[Socket]>;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    endpoint: { ...loopback, port: (server.address() as { port: number }).port },
    connected,
    hungUp: connected.then(([socket]) => once(socket, 'close')),
    get connections() {
      return sockets.length;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
