// The head of a request: read strictly, since what two readers take differently is a way in.

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

  test('may name a header twice, which is told', () => {
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
    'with a target that is no ASCII': 'GET /\xe9 HTTP/1.1',
    'with a header without a colon': 'GET / HTTP/1.1\r\nHost',
    'with a header without a name': 'GET / HTTP/1.1\r\n: x',
    'with a space before the colon': 'GET / HTTP/1.1\r\nHost : x',
    'with a header folded over two lines': 'GET / HTTP/1.1\r\nHost: x\r\n y',
    'with a lone line feed': 'GET / HTTP/1.1\r\nHost: x\nOrigin: y',
    'with a lone carriage return': 'GET / HTTP/1.1\r\nHost: x\rOrigin: y',
    'with a NUL': 'GET / HTTP/1.1\r\nHost: x\0',
    'with nothing in it': '',
  })) {
    test(`${what} is malformed`, () => assert.equal(parseHead(text), undefined));
  }

  test('that names one header again and again is read without standing still', () => {
    const count = 500_000; // far more than a head has room for, so that time that grows with the square would not end
    const values = parseHead(`GET / HTTP/1.1${'\r\na: 1'.repeat(count)}`)?.headers['a'];
    assert.equal(values?.length, count);
  });

  test('of nothing but spaces takes no time', () => {
    const startedAt = performance.now();
    assert.equal(parseHead(`GET / HTTP/1.1\r\na:${' '.repeat(16_000)}\0`), undefined);
    assert.equal(parseHead(`GET / HTTP/1.1\r\na:${' '.repeat(16_000)}`)?.headers['a'], '');
    assert.ok(performance.now() - startedAt < 500);
  });
});

describe('a connection', () => {
  test('may send its head byte by byte', async () => {
    await using door = await listen();
    assert.match(
      await answer(door, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.split('')),
      /^HTTP\/1\.1 400 \r\n[^]*there is a WebSocket/,
    );
  });

  test('with a malformed head is told so', async () => {
    await using door = await listen();
    assert.match(await answer(door, ['nonsense\r\n\r\n']), /^HTTP\/1\.1 400 [^]*the request is malformed$/);
  });

  test('with too long a head is told so', async () => {
    await using door = await listen();
    assert.match(await answer(door, [`GET / HTTP/1.1\r\na: ${'x'.repeat(17_000)}`]), /^HTTP\/1\.1 431 /);
  });

  test('is answered once: what comes behind its request is none', async () => {
    await using door = await listen();
    const said = await answer(door, [
      'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n',
    ]);
    assert.equal(said.match(/HTTP\/1\.1/g)?.length, 1);
    assert.match(said, /\r\nconnection: close\r\n/);
  });

  test('that takes too long over its head is told so', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock });
    const socket = connect(door.listener.endpoint.port, '127.0.0.1');
    const said = receivedText(socket);
    socket.write('GET /');
    await once(socket, 'connect');
    while (!clock.pendingMs.includes(10_000)) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(10_000);
    assert.match(await said, /^HTTP\/1\.1 408 /);
  });

  test('that asks for a version of WebSockets that is not spoken is told which is', async () => {
    await using door = await listen();
    const head =
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 8\r\n';
    const said = await answer(door, [`${head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`]);
    assert.match(said, /^HTTP\/1\.1 426 [^]*sec-websocket-version: 13\r\n/);
  });
});

async function answer({ listener }: Door, pieces: readonly string[]): Promise<string> {
  const socket = connect(listener.endpoint.port, '127.0.0.1').setNoDelay();
  const said = receivedText(socket);
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
  return said;
}

async function receivedText(socket: AsyncIterable<unknown>): Promise<string> {
  let said = '';
  for await (const piece of socket) said += String(piece);
  return said;
}
