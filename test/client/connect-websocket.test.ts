// The client as in a browser: over a WebSocket that cannot be paused and cannot send headers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { connectWebSocket } from '#src/client/index.js';
import { scratchFolder } from '../server/auth-tokens.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };
const world = globalThis as { WebSocket?: unknown };

describe('a client over a browser’s WebSocket', () => {
  const own = world.WebSocket;
  before(() => (world.WebSocket = WebSocket)); // Node before 22 has no WebSocket, and later ones keep their sockets open for a while
  after(() => (world.WebSocket = own));
  guardAgainstLeaks();

  test('runs a command', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connectWebSocket(server.url);
    const { stdout } = await client.run(['cat'], { env, input: 'there and back' });
    assert.equal(stdout.text, 'there and back');
  });

  test('sends its token as a subprotocol, and is refused with a wrong one', async () => {
    using folder = scratchFolder();
    const token = 'token-of-length?>~';
    await using server = await SluiceServer.start('websocket', ['--token-file', folder.write('token', token)]);
    await using client = await connectWebSocket(server.url, { token });
    assert.equal((await client.run(['echo', 'in'], { env })).stdout.text, 'in\n');
    await assert.rejects(connectWebSocket(server.url, { token: 'guess' }), /could not connect to ws:/);
  });

  test('resumes its session when the connection is cut, without losing output', async () => {
    await using server = await SluiceServer.start('websocket');
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connectWebSocket(proxy.url);
    const lines = 100_000;
    const running = client.run(['seq', '1', String(lines)], { env, maxOutputBytes: 10_000_000 });
    proxy.cutRandomly(5);
    await proxy.reached(5);
    const { stdout, ending } = await running;
    assert.equal(stdout.text, Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join(''));
    assert.equal(ending.reason, 'exited');
  });

  test('gives up on a server that does not answer', async () => {
    const silent = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await assert.rejects(connectWebSocket(url, { timeouts: { connectMs: 100 } }), /could not connect to ws:/);
    silent.close();
    await once(silent, 'close');
  });

  test('fails with a clear error where there is no WebSocket', async () => {
    delete world.WebSocket;
    await assert.rejects(connectWebSocket('ws://127.0.0.1:1'), /this runtime has no WebSocket/);
  });
});
