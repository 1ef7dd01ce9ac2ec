// Promise 7 on keep-alive connections: permission for one request does not extend to the next.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { scratchFolder } from '../server/auth-tokens.js';
import { eventually } from '../support/eventually.js';
import { HttpClient } from '../support/http-client.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';
import { request, upgradeHeaders } from './raw-http.js';

const token = 'a-token-of-thirty-two-characters-x';
const bearer = `Authorization: Bearer ${token}`;

guardAgainstLeaks();

describe('on a keep-alive connection', () => {
  const folder = scratchFolder();
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('websocket', ['--token-file', folder.write('token', token)]);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  /** A client whose first request has been answered. */
  async function keptClient(): Promise<HttpClient> {
    const client = new HttpClient(Number(new URL(server.url).port));
    client.send(request(server, 'GET /metrics', [bearer]));
    await client.answered(200);
    return client;
  }

  test('every request needs the token, and a refused one closes the connection', async () => {
    using client = await keptClient();
    client.send(request(server, 'HEAD /metrics', [bearer]) + request(server, 'GET /healthz'));
    await client.answered(200, 200, 200);
    client.send(request(server, 'GET /metrics') + request(server, 'GET /metrics', [bearer]));
    await client.closed(200, 200, 200, 401);
    const log = () => server.log.join('\n');
    await eventually(() => assert.match(log(), /"status":401.*"request refused"/));
    assert.equal(log().includes(token), false);
  });

  for (const [what, headers, statuses] of [
    ['from a page', ['Origin: http://evil.test'], [403]],
    [
      'from a page behind thousands of headers',
      [...Array.from({ length: 2_100 }, () => 'a:b'), 'Origin: http://evil.test'],
      [403],
    ],
    ['from another site', ['Sec-Fetch-Site: cross-site'], [403]],
    ['with a second Host', ['Host: evil.test'], [400]],
    ['with two tokens', [bearer, 'Authorization: Bearer guess'], [401]],
    ['for an upgrade', [...upgradeHeaders, bearer], [400]],
    ['for an upgrade without a token', upgradeHeaders, [400]],
    ['with a head that is too long', [`X: ${'y'.repeat(20_000)}`], [431]],
  ] as const) {
    test(`a request ${what} is refused, and nothing after it is read`, async () => {
      using client = await keptClient();
      client.send(request(server, 'GET /', headers) + request(server, 'GET /metrics', [bearer]));
      await client.closed(200, ...statuses);
    });
  }

  test('a request that two parsers could read differently is refused', async () => {
    const hidden = request(server, 'GET /metrics', [bearer]);
    for (const header of [
      'Content-Length: 5\r\nContent-Length: 6',
      'Content-Length: 5\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
      'Content-Length: -1',
      'Origin : http://evil.test',
      'X: a\r\n Origin: http://evil.test',
      'X: a\rOrigin: http://evil.test',
      'X: a\nOrigin: http://evil.test',
      'X: a\0b',
    ]) {
      using client = await keptClient();
      client.send(`${request(server, 'POST /healthz', [header])}0\r\n\r\n${hidden}`);
      await client.closed(200, 400);
    }
    using client = await keptClient();
    client.send(hidden.replaceAll('\r', ''));
    await client.closed(200, 400);
  });

  test('a rebound host name is refused, and so is a missing one', async () => {
    for (const [host, status] of [
      ['Host: evil.test', 403],
      ['X: y', 400],
    ] as const) {
      using client = await keptClient();
      client.send(request(server, 'GET /metrics').replace(/^Host: .*$/m, host));
      await client.closed(200, status);
    }
  });
});
