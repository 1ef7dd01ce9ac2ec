// The head of a request: parsed strictly, since anything that two parsers read differently can be exploited.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { parseHead } from '#src/transport/http-head.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Door, listen } from './door.js';

guardAgainstLeaks();

describe('a head', () => {
  test('is a method, a target and headers, whose names are in lower case', () => {
    assert.deepEqual(parseHead('GET /a?b HTTP/1.1\r\nHost: x:1\r\nX-Empty:\r\nX-Space:  a\tb \t'), {
      method: 'GET',
      url: '/a?b',
      headers: { host: 'x:1', 'x-empty': '', 'x-space': 'a\tb' },
    });
  });

  test('may name a header twice, and both values are returned', () => {
    assert.deepEqual(parseHead('GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n__proto__: c')?.headers, {
      host: ['a', 'b'],
      ['__proto__']: 'c',
    });
  });

  for (const [what, text] of Object.entries({
    'without a version': 'GET /',
    'of another version': 'GET / HTTP/2.0',
    'with two spaces': 'GET  / HTTP/1.1',
    'with a method in lower case': 'get / HTTP/1.1',
    'with a target that is not ASCII': 'GET /\xe9 HTTP/1.1',
    'with a header without a colon': 'GET / HTTP/1.1\r\nHost',
    'with a header without a name': 'GET / HTTP/1.1\r\n: x',
    'with a space before the colon': 'GET / HTTP/1.1\r\nHost : x',
    'with a header folded over two lines': 'GET / HTTP/1.1\r\nHost: x\r\n y',
    'with a lone line feed': 'GET / HTTP/1.1\r\nHost: x\nOrigin: y',
    'with a lone carriage return': 'GET / HTTP/1.1\r\nHost: x\rOrigin: y',
    'with a NUL': 'GET / HTTP/1.1\r\nHost: x\0',
    'that is empty': '',
  })) {
    test(`${what} is malformed`, () => assert.equal(parseHead(text), undefined));
  }

  test('that repeats one header many times is parsed in linear time', () => {
    const count = 500_000; // far more than fits into a head, so that quadratic time would not finish
    const values = parseHead(`GET / HTTP/1.1${'\r\na: 1'.repeat(count)}`)?.headers['a'];
    assert.equal(values?.length, count);
  });

  test('of nothing but spaces is parsed in linear time', () => {
    const startedAt = performance.now();
    assert.equal(parseHead(`GET / HTTP/1.1\r\na:${' '.repeat(16_000)}\0`), undefined);
    assert.equal(parseHead(`GET / HTTP/1.1\r\na:${' '.repeat(16_000)}`)?.headers['a'], '');
    assert.ok(performance.now() - startedAt < 500);
  });
});

describe('a connection', () => {
  test('may send its head byte by byte', async () => {
    await using door = await listen();
    assert.match(await answer(door, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.split('')), /^HTTP\/1\.1 400 \r\n[^]*only a WebSocket/);
  });

  test('with a malformed head gets 400', async () => {
    await using door = await listen();
    assert.match(await answer(door, ['nonsense\r\n\r\n']), /^HTTP\/1\.1 400 [^]*the request is malformed$/);
  });

  test('with too long a head gets 431', async () => {
    await using door = await listen();
    assert.match(await answer(door, [`GET / HTTP/1.1\r\na: ${'x'.repeat(17_000)}`]), /^HTTP\/1\.1 431 /);
  });

  test('is answered once: bytes after its request are not read as another', async () => {
    await using door = await listen();
    const received = await answer(door, [
      'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n',
    ]);
    assert.equal(received.match(/HTTP\/1\.1/g)?.length, 1);
    assert.match(received, /\r\nconnection: close\r\n/);
  });

  test('that is too slow with its head gets 408', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const socket = connect(door.listener.endpoint.port, '127.0.0.1');
    const received = receivedText(socket);
    socket.write('GET /');
    await once(socket, 'connect');
    while (!clock.pendingMs.includes(10_000)) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(10_000);
    assert.match(await received, /^HTTP\/1\.1 408 /);
  });

  test('that asks for an unsupported WebSocket version gets 426 with the supported one', async () => {
    await using door = await listen();
    const head =
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 8\r\n';
    const received = await answer(door, [`${head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`]);
    assert.match(received, /^HTTP\/1\.1 426 [^]*sec-websocket-version: 13\r\n/);
  });
});

async function answer({ listener }: Door, pieces: readonly string[]): Promise<string> {
  const socket = connect(listener.endpoint.port, '127.0.0.1').setNoDelay();
  const received = receivedText(socket);
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
  return received;
}

async function receivedText(socket: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const piece of socket) text += String(piece);
  return text;
}
