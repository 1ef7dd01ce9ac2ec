// Plain HTTP connections: kept alive between requests, each request answered separately, no client waited for without a limit.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { deferred } from '#src/base/deferred.js';
import { type HttpAnswer, plainAnswer } from '#src/transport/http-answer.js';
import type { RequestHead } from '#src/transport/http-head.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { HttpClient } from '../support/http-client.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { loopback } from './channel-pairs.js';
import { type Door, listen } from './door.js';
import { selfSigned } from './self-signed.js';

guardAgainstLeaks();

const ask = (target: string, ...headers: string[]) => `GET ${target} HTTP/1.1\r\n${['Host: x', ...headers].join('\r\n')}\r\n\r\n`;

const upgrade = ask(
  '/',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
);

const echo = ({ method, url }: RequestHead): HttpAnswer => plainAnswer(200, `${method} ${url}`);

const clientOf = ({ listener }: Door) => new HttpClient(listener.endpoint.port);

/** Waits until the server has set a timer of this length. */
async function waitedFor(clock: FakeClock, ms: number): Promise<void> {
  await eventually(() => assert.ok(clock.pendingMs.includes(ms), `nothing waits for ${ms} ms`));
}

describe('a connection of plain HTTP', () => {
  test('is kept for the next request', async () => {
    await using door = await listen({ answer: echo });
    using client = clientOf(door);
    client.send(ask('/one'));
    await client.answered(200);
    client.send(ask('/two'));
    await client.answered(200, 200);
    assert.match(client.said, /keep-alive: timeout=10,[^]*GET \/one[^]*GET \/two$/i);
  });

  test('is closed when the client or the answer asks for it', async () => {
    await using door = await listen({
      answer: ({ url }) => plainAnswer(200, url, url === '/last' ? { connection: 'close' } : {}),
    });
    for (const last of [ask('/a', 'Connection: close'), ask('/last'), 'GET /a HTTP/1.0\r\n\r\n']) {
      using client = clientOf(door);
      client.send(ask('/first'));
      await client.answered(200);
      client.send(last);
      await client.closed(200, 200);
    }
  });

  test('may carry pipelined requests, which are answered in order', async () => {
    const slow = deferred<HttpAnswer>();
    await using door = await listen({ answer: (request) => (request.url === '/slow' ? slow.promise : echo(request)) });
    using client = clientOf(door);
    client.send(ask('/slow') + ask('/b') + ask('/c'));
    client.send(ask('/d'));
    slow.resolve(plainAnswer(201, 'slow'));
    await client.answered(201, 200, 200, 200);
    assert.match(client.said, /slow[^]*GET \/b[^]*GET \/c[^]*GET \/d$/);
  });

  test('delivers the answer to a client that has already ended its side', async () => {
    await using door = await listen({ answer: echo });
    using client = clientOf(door);
    client.end(ask('/one'));
    await client.closed(200);
  });

  test('passes on every header exactly as sent, for the first request and later ones', async () => {
    const heads: RequestHead[] = [];
    await using door = await listen({
      answer: (request) => {
        heads.push(request);
        return plainAnswer(200, '');
      },
    });
    using client = clientOf(door);
    const headers = ['Authorization: a', 'authorization: b', 'Host: y', '__proto__: c', 'X:  d \t'];
    client.send(ask('/?q', ...headers));
    await client.answered(200);
    client.send(ask('/?q', ...headers, ...Array.from({ length: 2_100 }, () => 'n:m'), 'Origin: e'));
    await client.answered(200, 200);
    const expected = { host: ['x', 'y'], authorization: ['a', 'b'], ['__proto__']: 'c', x: 'd' };
    const [first, second] = heads.map(({ method, url, headers: { n: _, ...rest } }) => ({ method, url, headers: rest }));
    assert.deepEqual(first, { method: 'GET', url: '/?q', headers: expected });
    assert.deepEqual(second, { method: 'GET', url: '/?q', headers: { ...expected, origin: 'e' } });
  });

  test('can no longer become a WebSocket, and nothing after an upgrade request is read', async () => {
    await using door = await listen({ answer: echo });
    using client = clientOf(door);
    client.send(ask('/one'));
    await client.answered(200);
    client.send(upgrade + ask('/two'));
    await client.closed(200, 400);
    assert.match(client.said, /a WebSocket upgrade must be the first request$/);
    assert.deepEqual(door.channels, []);
  });

  test('is cut off when its answer fails', async () => {
    await using door = await listen({ answer: async () => assert.fail('no answer') });
    using client = clientOf(door);
    client.send(ask('/one'));
    await client.closed();
  });

  test('is closed by a CONNECT request', async () => {
    await using door = await listen({ answer: echo });
    using client = clientOf(door);
    client.send(ask('/one'));
    await client.answered(200);
    client.send('CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.closed(200);
  });

  test('does not send 100 Continue before the request is answered', async () => {
    await using door = await listen({ answer: () => plainAnswer(403, 'no') });
    using client = clientOf(door);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n');
    await client.answered(403);
  });

  test('answers HEAD without a body, even if the body is a stream', async () => {
    await using door = await listen({
      answer: async ({ url }) => ({ status: 200, headers: { etag: '"1"' }, body: url === '/text' ? 'body' : pieces('body') }),
    });
    using client = clientOf(door);
    client.send(ask('/text').replace('GET', 'HEAD'));
    await client.answered(200);
    client.send(ask('/streamed').replace('GET', 'HEAD'));
    await client.answered(200, 200);
    assert.doesNotMatch(client.said, /body/);
  });

  test('streams a body, and is cut off when the body fails', async () => {
    const failure = deferred<string>();
    await using door = await listen({
      answer: async ({ url }) => ({ status: 200, headers: {}, body: pieces('one', url === '/whole' ? 'two' : failure.promise) }),
    });
    using client = clientOf(door);
    client.send(ask('/whole'));
    await client.answered(200);
    client.send(ask('/broken'));
    await client.answered(200, 200);
    failure.reject(new Error('gone'));
    await client.closed(200, 200);
    assert.match(client.said, /one\r\n3\r\ntwo\r\n0\r\n\r\nHTTP[^]*3\r\none\r\n$/);
  });

  test('works over TLS', async () => {
    const tls = selfSigned();
    await using door = await listen({ endpoint: { ...loopback, isSecure: true }, tls, answer: echo });
    const request = get(`${door.listener.url.replace('wss', 'https')}/secret`, { agent: false, ca: tls.cert });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part as string;
    assert.equal(text, 'GET /secret');
  });

  test('counts as unauthenticated, however many requests were answered', async () => {
    await using door = await listen({ answer: echo, maxUnauthenticated: 1 });
    using kept = clientOf(door);
    kept.send(ask('/one'));
    await kept.answered(200);
    using next = clientOf(door);
    next.send(ask('/one'));
    await kept.closed(200);
    await next.answered(200);
  });
});

describe('a client that is waited for', () => {
  test('has ten seconds from an answer to the end of its next head', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, answer: echo });
    for (const begun of ['', 'GET /two HTTP/1.1\r\nHo']) {
      using client = clientOf(door);
      client.send(ask('/one'));
      await client.answered(200);
      await waitedFor(clock, 10_000);
      await clock.advance(9_000);
      client.send(ask('/two'));
      await client.answered(200, 200);
      await waitedFor(clock, 10_000);
      client.send(begun);
      await clock.advance(9_999);
      assert.ok(client.isOpen);
      await clock.advance(1);
      await client.closed(200, 200);
    }
  });

  test('has ten seconds for the rest of a body that no route reads', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, answer: () => plainAnswer(405, 'no') });
    using client = clientOf(door);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nbegun');
    await client.answered(405);
    await waitedFor(clock, 10_000);
    client.send('and going on');
    await clock.advance(10_000);
    await client.closed(405);
  });

  test('has thirty seconds for a body before its answer', async () => {
    const clock = new FakeClock();
    const never = deferred<HttpAnswer>();
    await using door = await listen({ clock, answer: () => never.promise });
    using client = clientOf(door);
    client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nbegun');
    await waitedFor(clock, 30_000);
    await clock.advance(30_000);
    await client.closed();
  });

  test('is not timed out for its next request while an answer is being prepared', async () => {
    const clock = new FakeClock();
    const slow = deferred<HttpAnswer>();
    await using door = await listen({ clock, answer: (request) => (request.url === '/slow' ? slow.promise : echo(request)) });
    using client = clientOf(door);
    client.send(ask('/one') + ask('/slow'));
    await client.answered(200);
    await clock.advance(1_000_000);
    assert.ok(client.isOpen);
    slow.resolve(plainAnswer(201, ''));
    await client.answered(200, 201);
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, answer: echo });
    const before = clock.pendingMs.length;
    using client = clientOf(door);
    client.send(ask('/one', 'Connection: close'));
    await client.closed(200);
    while (clock.pendingMs.length > before) await new Promise((resolve) => setImmediate(resolve));
  });
});

async function* pieces(...parts: readonly (string | Promise<string>)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(await part);
}
