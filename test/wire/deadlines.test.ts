// A client respects its timeouts: for the connection, for the reply to `initialize`, and for a server that does not start.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { WebSocketServer } from 'ws';
import { connect, launchServer } from '#src/index.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('deadlines', () => {
  guardAgainstLeaks();

  test('connecting fails if the server accepts and sends nothing', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(connect(url, { timeouts: { connectMs: 100 } }), /no answer from ws:.* within 100 ms/);
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  test('connecting fails if the server never answers initialize', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(connect(url, { timeouts: { initializeMs: 100 } }), /no answer to initialize within 100 ms/);
    server.close();
    for (const client of server.clients) client.terminate();
    await once(server, 'close');
  });

  test('connecting fails at once, with the address, if no server listens there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await assert.rejects(connect(`ws://127.0.0.1:${port}`), new RegExp(`127\\.0\\.0\\.1:${port}`));
    await assert.rejects(connect('unix:///no/such/socket'), /\/no\/such\/socket/);
  });

  test('launching a program that does not exist or is not a server fails with an error that names it', async () => {
    await assert.rejects(launchServer({ command: '/no/such/program' }), /\/no\/such\/program.*ENOENT/s);
    await assert.rejects(launchServer({ command: 'sh', args: ['-c', 'exit 7'] }), /sh -c exit 7.*code 7/s);
  });

  for (const [what, script] of [
    ['prints nothing', 'exec sleep 600'],
    ['ignores SIGTERM and the end of its stdin', 'trap "" TERM HUP; while :; do read -r line; done'],
  ] as const) {
    test(`a launched program that ${what} is killed without a grace period when initialize times out`, async () => {
      const clock = new FakeClock();
      const launched = launchServer({ command: 'sh', args: ['-c', script], clock, timeouts: { initializeMs: 300 } });
      launched.catch(() => {}); // awaited below, after the timeout
      await eventually(() => assert.deepEqual(clock.pendingMs, [300]));
      await clock.advance(300);
      await assert.rejects(launched, /cannot launch a server with "sh -c .*no answer to initialize within 300 ms/s);
    });
  }
});
