// The gate admits requests by host, origin and token, and no answer ever quotes a secret.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Credentials, type GateOptions, type Verdict, createGate } from '#src/server/auth/index.js';
import type { ListenEndpoint } from '#src/transport/endpoint.js';

const token = 'correct-horse-battery-staple';
const digest = createHash('sha256').update(token).digest();
const credentials: Credentials = { kind: 'tokens', digests: [digest] };
const identity = { subject: `token:${digest.toString('hex').slice(0, 8)}` };
const loopback: ListenEndpoint = { kind: 'websocket', isSecure: false, host: '127.0.0.1', port: 4500 };
const host = '127.0.0.1:4500';

interface Given extends Partial<GateOptions> {
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly url?: string;
}

function ask({ headers = {}, url, ...options }: Given): Verdict {
  const gate = createGate({ credentials: { kind: 'none' }, bind: loopback, allowedOrigins: [], allowedHosts: [], ...options });
  return gate.authorize({ headers: { host, ...headers }, url });
}

const statusOf = (given: Given) => {
  const verdict = ask(given);
  return verdict.ok ? 200 : verdict.status;
};

describe('the Host header', () => {
  const everywhere: ListenEndpoint = { ...loopback, host: '0.0.0.0' };
  const loopback6: ListenEndpoint = { ...loopback, host: '::1' };
  const mapped: ListenEndpoint = { ...loopback, host: '::ffff:7f00:1' };
  const cases: readonly [string, ListenEndpoint, number][] = [
    ['127.0.0.1:4500', loopback, 200],
    ['localhost:4500', loopback, 200],
    ['LOCALHOST:4500', loopback, 200],
    ['127.0.0.1:4501', loopback, 200],
    ['127.0.0.1', loopback, 200],
    ['localhost', loopback, 200],
    ['127.0.0.2:4500', loopback, 403],
    ['[::1]:4500', loopback, 403],
    ['evil.example:4500', loopback, 403],
    ['localhost.evil.example:4500', loopback, 403],
    ['127.0.0.1.evil.example:4500', loopback, 403],
    ['localhost.:4500', loopback, 403],
    ['127.0.0.1:4500@evil.example', loopback, 403],
    ['evil.example/127.0.0.1:4500', loopback, 403],
    ['127.0.0.1:4500, evil.example', loopback, 403],
    ['127.0.0.1:04500000', loopback, 403],
    ['127.0.0.1:99999', loopback, 403],
    ['', loopback, 403],
    [`${'a'.repeat(1000)}:4500`, loopback, 403],
    ['[::1]:4500', loopback6, 200],
    ['[0:0:0:0:0:0:0:1]:4500', loopback6, 200],
    ['localhost:4500', loopback6, 200],
    ['[evil]:4500', loopback6, 403],
    ['[127.0.0.1]:4500', loopback, 403],
    ['[::ffff:127.0.0.1]:4500', loopback, 200],
    ['127.0.0.1:4500', mapped, 200],
    ['localhost:4500', mapped, 200],
    ['[::ffff:127.0.0.2]:4500', loopback, 403],
    ['[::127.0.0.1]:4500', loopback, 403],
    ['10.1.2.3:4500', everywhere, 200],
    ['[fe80::1]:4500', everywhere, 200],
    ['localhost:4500', everywhere, 200],
    ['10.1.2.3:4501', everywhere, 200],
    ['build-box:4500', everywhere, 403],
    ['localhost:4500', { ...loopback, host: '10.1.2.3' }, 403],
    ['127.0.0.1', { ...loopback, port: 80 }, 200],
    ['127.0.0.1:80', { ...loopback, port: 80 }, 200],
    ['127.0.0.1', { ...loopback, isSecure: true, port: 443 }, 200],
    ['127.0.0.1', { ...loopback, isSecure: true, port: 80 }, 200],
    ['anything at all', { kind: 'unix', path: '/run/sluice.sock' }, 200],
  ];
  for (const [header, bind, status] of cases) {
    const bound = bind.kind === 'websocket' ? `${bind.isSecure ? 'wss' : 'ws'} ${bind.host} port ${bind.port}` : bind.kind;
    test(`"${header.slice(0, 40)}" at ${bound} gives ${status}`, () => {
      assert.equal(statusOf({ headers: { host: header }, bind }), status);
    });
  }

  test('may be an allowed name, with a specific port or any port', () => {
    const allowedHosts = ['Build-Box', 'proxy.example:8443', '[2001:db8:0::1]'];
    const status = (header: string) => statusOf({ headers: { host: header }, allowedHosts });
    assert.deepEqual(
      [
        'build-box',
        'build-box:9',
        'proxy.example:8443',
        'proxy.example:4500',
        'proxy.example',
        '[2001:db8::1]:7',
        'x.build-box',
      ].map(status),
      [200, 200, 200, 403, 403, 200, 403],
    );
  });

  test('that is missing or repeated gives 400', () => {
    assert.equal(statusOf({ headers: { host: ['127.0.0.1:4500', 'evil.example'] } }), 400);
    const gate = createGate({ credentials: { kind: 'none' }, bind: loopback, allowedOrigins: [], allowedHosts: [] });
    const text = 'one Host header is required';
    assert.deepEqual(gate.authorize({ headers: {} }), { ok: false, status: 400, text, headers: {} });
  });

  test('that is refused gets the flag that would allow it', () => {
    const verdict = ask({ headers: { host: 'build-box:4500' } });
    assert.match(verdict.ok ? '' : verdict.text, /--allow-host build-box:4500/);
  });

  test('cannot be allowed by a malformed name', () => {
    for (const wrong of ['', '*', 'http://example.com', 'a b', 'example.com:x', 'user@example.com', 'example.com/']) {
      assert.throws(() => ask({ allowedHosts: [wrong] }), /an allowed host must be a name or an IP address/, wrong);
    }
  });
});

describe('the Origin header', () => {
  test('gives 403 for any value, even with the right token', () => {
    for (const origin of ['http://127.0.0.1:4500', 'http://localhost:4500', 'null', '', 'https://evil.example', 'file://']) {
      assert.equal(statusOf({ headers: { origin } }), 403, origin);
      assert.equal(statusOf({ headers: { origin, authorization: `Bearer ${token}` }, credentials }), 403, origin);
    }
  });

  test('is accepted only if it matches an allowed origin exactly', () => {
    const allowedOrigins = ['https://example.com', 'vscode-webview://abc'];
    const status = (origin: string | string[]) => statusOf({ headers: { origin }, allowedOrigins });
    assert.deepEqual([status('https://example.com'), status('vscode-webview://abc')], [200, 200]);
    for (const other of [
      'https://example.com/',
      'https://example.com:443',
      'http://example.com',
      'https://EXAMPLE.com',
      'https://evil.example.com',
      'https://example.com.evil',
      'https://example.com, https://evil.example',
      ['https://example.com', 'https://evil.example'],
      [],
    ]) {
      assert.equal(status(other), 403, String(other));
    }
  });

  test('is absent for images, scripts and frames, but requests from other sites still give 403', () => {
    const status = (site: string | string[]) => statusOf({ headers: { 'sec-fetch-site': site } });
    assert.deepEqual(
      ['cross-site', 'same-site', '', ['none', 'none']].map((site) => status(site)),
      [403, 403, 403, 403],
    );
    assert.deepEqual([status('none'), status('same-origin')], [200, 200]);
    const allowed = { origin: 'https://example.com', 'sec-fetch-site': 'cross-site' };
    assert.equal(statusOf({ headers: allowed, allowedOrigins: ['https://example.com'] }), 200);
  });

  test('cannot be allowed by a pattern, a path or "null"', () => {
    for (const wrong of [
      '*',
      'null',
      'https://*.example.com',
      'https://example.com/',
      'example.com',
      'https://Example.com',
      '',
    ]) {
      assert.throws(() => ask({ allowedOrigins: [wrong] }), /an allowed origin must be exact/, wrong);
    }
  });
});

describe('a token', () => {
  test('in the Authorization header is accepted', () => {
    for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, `BEARER ${token} `]) {
      assert.deepEqual(ask({ headers: { authorization }, credentials }), { ok: true, identity, subprotocol: undefined });
    }
  });

  test('that is wrong or presented incorrectly gives 401 and names the scheme', () => {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${token}`,
      token,
      `Bearer ${token} x`,
      `Bearer ${token}x`,
      'Bearer ü',
    ]) {
      const verdict = ask({ headers: { authorization }, credentials });
      assert.deepEqual(verdict.ok || [verdict.status, verdict.headers], [401, { 'www-authenticate': 'Bearer realm="sluice"' }]);
    }
    assert.equal(statusOf({ credentials }), 401);
  });

  test('is not required when no credentials are configured', () => {
    assert.deepEqual(ask({ headers: { authorization: 'Basic eDp5' } }), {
      ok: true,
      identity: { subject: 'anybody' },
      subprotocol: undefined,
    });
  });

  test('in the URL gives 400 and says where it belongs, even next to a valid header', () => {
    for (const url of [
      '/?token=x',
      '/?a=b&access_token=x',
      '/?Authorization=x',
      '/?%74oken=x',

      '/?jwt',
      '/?api_key=x',
      'ws://me:x@127.0.0.1/',
    ]) {
      const verdict = ask({ url, headers: { authorization: `Bearer ${token}` }, credentials });
      assert.deepEqual(verdict.ok || [verdict.status, verdict.text.includes('Authorization: Bearer')], [400, true], url);
    }
    for (const url of ['/', '/?', '/?a=token', '/?tokens=1', '/@', undefined])
      assert.equal(statusOf(url === undefined ? {} : { url }), 200, url);
  });
});

describe('a browser', () => {
  const offered = (...entries: string[]) => ({ 'sec-websocket-protocol': entries.join(', ') });
  const entry = `sluice.bearer.${Buffer.from(token).toString('base64url')}`;

  test('presents its token as a subprotocol and receives the other one it offered', () => {
    for (const headers of [offered('sluice.v0', entry), offered(entry, 'other', 'sluice.v0')]) {
      assert.deepEqual(ask({ headers, credentials }), { ok: true, identity, subprotocol: 'sluice.v0' });
    }
  });

  test('without a token receives our subprotocol if it offered it', () => {
    assert.deepEqual(ask({ headers: offered('sluice.v0') }), {
      ok: true,
      identity: { subject: 'anybody' },
      subprotocol: 'sluice.v0',
    });
    assert.deepEqual(ask({ headers: offered('graphql-ws') }), {
      ok: true,
      identity: { subject: 'anybody' },
      subprotocol: undefined,
    });
  });

  test('that offers only the token, two tokens, or invalid base64url gets 400', () => {
    for (const headers of [
      offered(entry),
      offered('sluice.v0', entry, entry),
      offered('sluice.v0', 'sluice.bearer.'),
      offered('sluice.v0', `${entry}=`),
    ]) {
      assert.equal(statusOf({ headers, credentials }), 400);
    }
  });

  test('with a wrong token gets 401', () => {
    assert.equal(statusOf({ headers: offered('sluice.v0', 'sluice.bearer.d3Jvbmc'), credentials }), 401);
  });

  test('still needs an allowed origin', () => {
    const headers = { ...offered('sluice.v0', entry), origin: 'https://example.com' };
    assert.equal(statusOf({ headers, credentials }), 403);
    assert.equal(statusOf({ headers, credentials, allowedOrigins: ['https://example.com'] }), 200);
  });
});

test('no answer quotes a secret, wherever it was put', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9_-]{12,40}$/);
  const place = fc.constantFrom<(secret: string) => Given>(
    (text) => ({ headers: { authorization: `Bearer ${text}` } }),
    (text) => ({ headers: { authorization: text } }),
    (text) => ({ headers: { 'sec-websocket-protocol': `sluice.v0, sluice.bearer.${Buffer.from(text).toString('base64url')}` } }),
    (text) => ({ headers: { 'sec-websocket-protocol': `sluice.bearer.${text}` } }),
    (text) => ({ url: `/?token=${text}` }),
    (text) => ({ url: `ws://me:${text}@127.0.0.1:4500/` }),
    (text) => ({ headers: { origin: `https://me:${text}@example.com` } }),
    (text) => ({ headers: { host: `me:${text}@127.0.0.1:4500` } }),
  );
  fc.assert(
    fc.property(secret, place, (text, put) => {
      const answer = JSON.stringify(ask({ credentials, ...put(text) }));
      assert.ok(!answer.includes(text) && !answer.includes(Buffer.from(text).toString('base64url')), answer);
    }),
  );
});
