// Promise 7 at the level of raw HTTP: requests that two parsers could read differently are refused.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';
import { answerTo, request, statusesIn, upgradeHeaders } from './raw-http.js';

guardAgainstLeaks();

describe('a request', () => {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('websocket');
  });
  after(async () => server[Symbol.asyncDispose]());

  async function statuses(line: string, headers: readonly string[], rest = ''): Promise<number[]> {
    return statusesIn(await answerTo(server, request(server, line, headers) + rest));
  }

  test('that is well-formed is answered, and so is an upgrade', async () => {
    assert.deepEqual(await statuses('GET /healthz', []), [200]);
    assert.deepEqual(await statuses('GET /', upgradeHeaders), [101]);
  });

  test('from a browser for the page at / is checked like any other', async () => {
    const browser = 'Accept: text/html,*/*;q=0.8';
    assert.deepEqual(await statuses('GET /', [browser]), [200]);
    assert.deepEqual(await statuses('GET /', [browser, 'Sec-Fetch-Site: none']), [200]);
    assert.deepEqual(await statuses('GET /', [browser, 'Sec-Fetch-Site: cross-site']), [403]);
    assert.deepEqual(await statuses('GET /', [browser, 'Origin: http://evil.test']), [403]);
    const rebound = request(server, 'GET /', [browser]).replace(/^Host: .*$/m, 'Host: evil.test');
    assert.deepEqual(statusesIn(await answerTo(server, rebound)), [403]);
    assert.deepEqual(await statuses('GET /', [browser, ...upgradeHeaders]), [101]);
  });

  for (const [what, headers] of [
    ['a length twice', ['Content-Length: 5', 'Content-Length: 6']],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['two codings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity']],
    ['a negative length', ['Content-Length: -1']],
    ['a space before a colon', ['Origin : http://evil.test']],
    ['a folded line', ['X: a', ' Origin: http://evil.test']],
    ['a carriage return inside', ['X: a\rOrigin: http://evil.test']],
    ['a NUL inside', ['X: a\0b']],
    ['a second Host', ['Host: evil.test']],
  ] as const) {
    test(`with ${what} is refused with 400, and nothing after it is read`, async () => {
      const hidden = request(server, 'GET /metrics');
      assert.deepEqual(await statuses('POST /healthz', headers, `0\r\n\r\n${hidden}`), [400]);
      assert.deepEqual(await statuses('GET /', [...upgradeHeaders, ...headers], hidden), [400]);
    });
  }

  test('in lines without carriage returns is refused', async () => {
    assert.deepEqual(statusesIn(await answerTo(server, request(server, 'GET /healthz').replaceAll('\r', ''))), [400]);
  });

  test('cannot hide its Origin behind thousands of headers, nor have more than 16 KiB of them', async () => {
    const many = Array.from({ length: 2_100 }, () => 'a:b');
    const hidden = [...many, 'Origin: http://evil.test'];
    assert.deepEqual(await statuses('GET /healthz', hidden), [403]);
    assert.deepEqual(await statuses('GET /', [...upgradeHeaders, ...hidden]), [403]);
    assert.deepEqual(await statuses('GET /', [...upgradeHeaders, `X: ${'y'.repeat(20_000)}`]), [431]);
    assert.deepEqual(await statuses(`GET /${'y'.repeat(20_000)}`, []), [431]);
  });

  test('that upgrades to another protocol or with another method is refused', async () => {
    assert.deepEqual(await statuses('POST /', upgradeHeaders), [405]);
    assert.deepEqual(await statuses('GET /', ['Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAA']), [400]);
    assert.deepEqual(statusesIn(await answerTo(server, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')), [400]);
    assert.deepEqual(await statuses('CONNECT 127.0.0.1:22', []), [404]);
  });

  test('cannot inject anything into the headers of the answer', async () => {
    for (const [line, headers] of [
      ['GET /%0d%0aset-cookie:%20a=b', []],
      ['GET http://evil.test/healthz', []],
      ['GET /', [...upgradeHeaders, 'Sec-WebSocket-Protocol: set-cookie, sluice.v0, a=b']],
      ['GET /', [...upgradeHeaders, 'Origin: http://set-cookie.test']],
    ] as const) {
      const [head = ''] = (await answerTo(server, request(server, line, headers))).split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 /);
      assert.equal(/set-cookie|a=b|evil/i.test(head), false, head);
    }
  });

  test('after an upgrade is never read, whether the upgrade was refused or not', async () => {
    const hidden = request(server, 'GET /metrics');
    assert.deepEqual(await statuses('GET /', [...upgradeHeaders, 'Origin: http://evil.test'], hidden), [403]);
    assert.deepEqual(await statuses('GET /', upgradeHeaders, hidden), [101]);
    assert.deepEqual(await statuses('GET /', [...upgradeHeaders, `Content-Length: ${hidden.length}`], hidden), [101]);
  });
});
