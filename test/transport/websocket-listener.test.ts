// The WebSocket listener: which clients are admitted, what is refused with which status, and how it closes.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';
import { loopback } from './channel-pairs.js';
import { selfSigned } from './self-signed.js';
import { join, listen, plain, rawAnswer, rawWebSocket, refusal } from './door.js';

guardAgainstLeaks();

describe('an upgrade', () => {
  test('is admitted with the identity that authorize returns', async () => {
    await using door = await listen({
      authorize: ({ headers }) => ({ ok: true, identity: String(headers['authorization'] ?? 'none') }),
    });
    await using _client = await join(door, { headers: { authorization: 'Bearer t' } });
    assert.deepEqual(door.identities, ['Bearer t']);
    assert.match(door.channels[0]?.peer ?? '', /^127\.0\.0\.1:\d+$/);
  });

  test('is refused with the status, text and headers given', async () => {
    await using door = await listen({
      authorize: () => ({ ok: false, status: 401, text: 'a token is needed ✓', headers: { 'www-authenticate': 'Bearer' } }),
    });
    const response = await refusal(door.listener.url);
    assert.deepEqual(
      [response.status, response.text, response.headers['www-authenticate']],
      [401, 'a token is needed ✓', 'Bearer'],
    );
    assert.deepEqual(door.channels, []);
  });

  test('is only possible at the path /, with or without a query', async () => {
    await using door = await listen();
    assert.equal((await refusal(`${door.listener.url}/other`)).status, 404);
    assert.equal((await refusal(`${door.listener.url}//`)).status, 404);
    await using client = await join(door, { path: '/?a=b' });
    assert.equal(client.readyState, WebSocket.OPEN);
  });

  test('gets back only the subprotocol that was chosen', async () => {
    await using silent = await listen();
    await assert.rejects(join(silent, { protocols: ['bearer.secret', 'sluice'] }), /Server sent no subprotocol/);
    await using door = await listen({ authorize: () => ({ ok: true, identity: '', subprotocol: 'sluice' }) });
    await using client = await join(door, { protocols: ['bearer.secret', 'sluice'] });
    assert.equal(client.protocol, 'sluice');
  });

  test('is never compressed', async () => {
    await using door = await listen();
    await using client = await join(door, { perMessageDeflate: true });
    assert.equal(client.extensions, '');
  });

  test('that is malformed is refused', async () => {
    await using door = await listen();
    const { status } = await rawAnswer(
      door.listener,
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    assert.equal(status, 400);
  });

  test('that is disconnected while it is being refused does not affect others', async () => {
    await using door = await listen({ authorize: () => ({ ok: false, status: 403, text: 'x'.repeat(10_000_000) }) });
    const raw = connect(door.listener.endpoint.port, '127.0.0.1');
    raw.end('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await once(raw, 'readable');
    raw.resetAndDestroy();
    assert.equal((await plain(`${door.listener.url}/`)).status, 400);
  });
});

describe('a connection beyond the limit', () => {
  test('is refused with 503 until another one has closed', async () => {
    await using door = await listen({ maxConnections: 1 });
    const first = await join(door);
    assert.deepEqual(await refusal(door.listener.url).then(({ status, text }) => [status, text]), [
      503,
      'all 1 connections are in use',
    ]);
    await first[Symbol.asyncDispose]();
    await eventually(async () => {
      await using client = await join(door);
      assert.equal(client.readyState, WebSocket.OPEN);
    });
  });

  test('is closed with the reason when its owner admits it too late', async () => {
    await using door = await listen({ maxConnections: 1, admission: 'byOwner' });
    const [first, second] = [await join(door), await join(door)];
    const [admitFirst, admitSecond] = door.admits;
    admitFirst?.();
    admitFirst?.(); // the second call has no effect
    admitSecond?.();
    const [code, reason] = (await once(second, 'close')) as [number, Buffer];
    assert.deepEqual([code, reason.toString(), first.readyState], [4000, 'all 1 connections are in use', WebSocket.OPEN]);
    await first[Symbol.asyncDispose]();
  });
});

describe('connections of unauthenticated peers', () => {
  const idleAt = (port: number) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const state = { isClosed: false };
    socket.resume().once('close', () => (state.isClosed = true));
    return { socket, state };
  };

  /** Opens connections one after the other; the first is the oldest. */
  async function crowdAt(port: number, count: number) {
    const crowd: ReturnType<typeof idleAt>[] = [];
    for (let index = 0; index < count; index += 1) {
      const each = idleAt(port);
      await once(each.socket, 'connect');
      crowd.push(each);
    }
    return {
      isClosed: () => crowd.map(({ state }) => state.isClosed),
      async [Symbol.asyncDispose]() {
        for (const { socket } of crowd) socket.destroy();
        await eventually(() => assert.ok(crowd.every(({ state }) => state.isClosed)));
      },
    };
  }

  test('beyond their limit are cut off, the oldest first', async () => {
    let cutOff = 0;
    await using door = await listen({ maxUnauthenticated: 2, onCutOff: () => (cutOff += 1) });
    await using crowd = await crowdAt(door.listener.endpoint.port, 5);
    await eventually(() => assert.deepEqual(crowd.isClosed(), [true, true, true, false, false]));
    assert.equal(cutOff, 3);
  });

  test('do not end one that was admitted', async () => {
    await using door = await listen({ maxConnections: 1, maxUnauthenticated: 1 });
    await using client = await join(door);
    await using crowd = await crowdAt(door.listener.endpoint.port, 3);
    await eventually(() => assert.deepEqual(crowd.isClosed(), [true, true, false]));
    assert.equal(client.readyState, WebSocket.OPEN);
    assert.equal((await refusal(door.listener.url)).status, 503);
  });

  test('do not end one that was admitted over TLS', async () => {
    const tls = selfSigned();
    const endpoint = { ...loopback, isSecure: true };
    await using door = await listen({ endpoint, tls, maxUnauthenticated: 1 });
    await using client = await join(door, { ca: tls.cert });
    await using crowd = await crowdAt(door.listener.endpoint.port, 3);
    await eventually(() => assert.deepEqual(crowd.isClosed(), [true, true, false]));
    assert.equal(client.readyState, WebSocket.OPEN);
  });

  test('include upgraded ones until their owner admits them, if the owner decides', async () => {
    await using door = await listen({ maxUnauthenticated: 2, admission: 'byOwner' });
    const [unknown, known] = [await join(door), await join(door)];
    door.admits[1]?.();
    const gone = once(unknown, 'close');
    await using crowd = await crowdAt(door.listener.endpoint.port, 2);
    await gone;
    assert.deepEqual([known.readyState, crowd.isClosed()], [WebSocket.OPEN, [false, false]]);
    await known[Symbol.asyncDispose]();
  });

  test('do not push each other out if each authenticates at once', async () => {
    await using door = await listen({ maxConnections: 40, maxUnauthenticated: 1 });
    const clients = await Promise.all(Array.from({ length: 40 }, async () => rawWebSocket(door.listener)));
    assert.equal(door.channels.length, 40);
    for (const client of clients) client.destroy();
  });
});

describe('a plain request', () => {
  test('gets 400 and a hint at the path /, 404 at any other', async () => {
    await using door = await listen();
    const { status, text, headers } = await plain(`${door.listener.url}/`);
    assert.deepEqual(
      [status, text, headers['content-type']],
      [400, 'only a WebSocket is served here, at the path /', 'text/plain; charset=utf-8'],
    );
    assert.equal((await plain(`${door.listener.url}/readyz`)).status, 404);
  });

  test('is answered by the given function', async () => {
    await using door = await listen({
      answer: ({ method, url }) => ({ status: 200, body: `${method} ${url}`, headers: {} }),
    });
    assert.equal((await plain(`${door.listener.url}/readyz`)).text, 'GET /readyz');
    assert.equal((await plain(`${door.listener.url}/`, 'POST')).text, 'POST /');
  });
});

describe('the listener', () => {
  test('reports the port that the system chose', async () => {
    await using door = await listen();
    const { port } = door.listener.endpoint;
    assert.ok(port > 0);
    assert.equal(door.listener.url, `ws://127.0.0.1:${port}`);
  });

  test('listens on IPv6', async () => {
    await using door = await listen({ endpoint: { ...loopback, host: '::1' } });
    assert.match(door.listener.url, /^ws:\/\/\[::1\]:\d+$/);
    await using _client = await join(door);
    assert.match(door.channels[0]?.peer ?? '', /^\[::1\]:\d+$/);
  });

  test('names the address it cannot listen on', async () => {
    await using door = await listen();
    await assert.rejects(listen({ endpoint: door.listener.endpoint }), {
      name: 'EndpointError',
      message: new RegExp(`^cannot listen on ${door.listener.url}: listen EADDRINUSE`),
    });
  });

  test('waits for its channels to be closed, and cuts off the remaining ones after the grace', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const [client, raw] = [await join(door), await rawWebSocket(door.listener)];
    const closed = [once(client, 'close'), once(raw, 'close')];
    const [first, second] = door.channels;
    assert.ok(first !== undefined && second !== undefined);
    for (const channel of door.channels) record(channel);
    let isClosed = false;
    const closing = door.listener.close({ graceMs: 1_000 }).then(() => (isClosed = true));
    await assert.rejects(once(connect(door.listener.endpoint.port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
    first.send('"goodbye"');
    first.close();
    assert.deepEqual(await first.closed, {});
    assert.equal(isClosed, false);
    await clock.advance(1_000);
    assert.deepEqual(await second.closed, { problem: 'the server has stopped' });
    await closing;
    await Promise.all(closed);
  });

  test('closes at once when it has no channels', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const idle = connect(door.listener.endpoint.port, '127.0.0.1');
    await once(idle, 'connect');
    await door.listener.close({ graceMs: 1_000_000 });
    await door.listener.close({ graceMs: 1_000_000 });
    assert.deepEqual(clock.pendingMs, []);
    await once(idle.resume(), 'close');
  });
});
