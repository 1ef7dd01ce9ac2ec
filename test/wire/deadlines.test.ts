// A client waits no longer than it was told: for a connection, for a greeting, for a server that does not start.

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

  test('a server that accepts and then says nothing is given up', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(connect(url, { timeouts: { connectMs: 100 } }), /no answer from ws:.* within 100 ms/);
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  test('a server that never answers the greeting is given up', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(connect(url, { timeouts: { initializeMs: 100 } }), /no answer to initialize within 100 ms/);
    server.close();
    for (const client of server.clients) client.terminate();
    await once(server, 'close');
  });

  test('nobody there is said at once, with the address', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await assert.rejects(connect(`ws://127.0.0.1:${port}`), new RegExp(`127\\.0\\.0\\.1:${port}`));
    await assert.rejects(connect('unix:///no/such/socket'), /\/no\/such\/socket/);
  });

  test('a launched program that does not exist, or that is no server, is an error that names it', async () => {
    await assert.rejects(launchServer({ command: '/no/such/program' }), /\/no\/such\/program.*ENOENT/s);
    await assert.rejects(launchServer({ command: 'sh', args: ['-c', 'exit 7'] }), /sh -c exit 7.*code 7/s);
  });

  for (const [what, script] of [
    ['says nothing', 'exec sleep 600'],
    ['ignores SIGTERM and the end of its stdin', 'trap "" TERM HUP; while :; do read -r line; done'],
  ] as const) {
    test(`a launched program that ${what} is killed when the time for its greeting is up, without a grace`, async () => {
      const clock = new FakeClock();
      const launched = launchServer({ command: 'sh', args: ['-c', script], clock, timeouts: { initializeMs: 300 } });
      launched.catch(() => {}); // awaited below, once the time is up
      await eventually(() => assert.deepEqual(clock.pendingMs, [300]));
      await clock.advance(300);
      await assert.rejects(launched, /cannot launch a server with "sh -c .*no answer to initialize within 300 ms/s);
    });
  }
});
