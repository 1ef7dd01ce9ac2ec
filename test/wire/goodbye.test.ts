// A server that stops announces it, so its clients do not try to reconnect. After it has vanished, a client still has what it received.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectWebSocket } from '#src/client/index.js';
import { connect } from '#src/index.js';
import { startAgent } from '#src/runner/index.js';
import { WebSocket } from 'ws';
import { env, shell } from '../contract/connector.js';
import { fixtureAdapter } from '../runner/fixture-adapter.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Longer than any test waits, so a client that tries to reconnect makes its test hang. */
const timeouts = { reconnectMs: 10 * 60_000 };

/** The value of a promise that must resolve long before `reconnectMs`. */
async function atOnce<T>(promise: Promise<T>): Promise<T> {
  let settled: { readonly value: T } | undefined;
  void promise.then((value) => (settled = { value }));
  return eventually(() => (settled ?? assert.fail('still waiting')).value);
}

describe('when the server stops', () => {
  guardAgainstLeaks();

  for (const kind of ['websocket', 'unix'] as const) {
    test(`a client over a ${kind} learns how its process ended and that the server is gone`, async () => {
      await using server = await SluiceServer.start(kind);
      await using client = await connect(server.url, { timeouts });
      const child = await client.start(shell('exec sleep 600'));
      await server.stop();
      const { kind: ending, reason } = await atOnce(child.closed);
      assert.deepEqual({ ending, reason }, { ending: 'signal', reason: 'disconnected' });
      assert.match((await atOnce(client.ended)) ?? '', kind === 'websocket' ? /^the server is shutting down$/ : /./);
      await atOnce(child[Symbol.asyncDispose]());
      await assert.rejects(client.list(), { name: 'ConnectionClosedError' });
    });
  }

  test('a client over a browser’s WebSocket learns that the server is gone', async () => {
    const world = globalThis as { WebSocket?: unknown };
    const own = world.WebSocket;
    world.WebSocket = WebSocket;
    try {
      await using server = await SluiceServer.start('websocket');
      await using client = await connectWebSocket(server.url, { timeouts });
      await client.run(['true'], { env });
      await server.stop();
      assert.equal(await atOnce(client.ended), 'the server is shutting down');
    } finally {
      world.WebSocket = own;
    }
  });

  test('an agent’s run gets its outcome', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { timeouts });
    const run = startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt: 'hang' });
    for await (const { type } of run.events) if (type === 'session') break;
    await server.stop();
    assert.equal((await atOnce(run.outcome)).kind, 'failed');
  });
});

describe('when the server has vanished', () => {
  guardAgainstLeaks();

  test('a handle that was read to its end still reports the exit, and is disposed of without a reply', async () => {
    await using server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { timeouts });
    const child = await client.start(shell('echo done; exit 3'));
    for await (const { bytes } of child.output) assert.equal(Buffer.from(bytes).toString(), 'done\n');
    await server.stop('SIGKILL');
    const ending = await atOnce(child.closed);
    assert.deepEqual([ending.kind === 'code' && ending.code, ending.reason], [3, 'exited']);
    assert.deepEqual(await atOnce(child.exit), ending);
    await atOnce(child[Symbol.asyncDispose]());
  });

  test('an attached handle that was read to its end is disposed of without a reply', async () => {
    await using server = await SluiceServer.start('websocket');
    await using owner = await connect(server.url, { timeouts });
    await using client = await connect(server.url, { timeouts });
    await using started = await owner.start({ ...shell('read -r _; echo done'), io: { kind: 'pipe', stdin: 'open' } });
    const [status] = await client.list({ scope: 'all' });
    const child = await client.attach(started.id, { sessionId: status?.sessionId ?? '' });
    await started.write('go\n');
    for await (const { bytes } of child.output) assert.equal(Buffer.from(bytes).toString(), 'done\n');
    for await (const { bytes } of started.output) assert.equal(Buffer.from(bytes).toString(), 'done\n');
    await server.stop('SIGKILL');
    await atOnce(child[Symbol.asyncDispose]());
  });
});
