// Addresses: which are accepted, which are refused, and that no refusal repeats a secret.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  EndpointError,
  type ListenEndpoint,
  formatEndpoint,
  parseConnectUrl,
  parseListenUrl,
  reachOf,
  usualSpelling,
} from '#src/transport/endpoint.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

guardAgainstLeaks();

const ws = (host: string, port: number) => ({ kind: 'websocket', isSecure: false, host, port }) as const;
const wss = (host: string, port: number) => ({ kind: 'websocket', isSecure: true, host, port }) as const;

describe('an address to listen on', () => {
  const accepted: Record<string, ListenEndpoint> = {
    stdio: { kind: 'stdio' },
    'stdio://': { kind: 'stdio' },
    'ws://127.0.0.1:0': ws('127.0.0.1', 0),
    'ws://0.0.0.0:65535/': ws('0.0.0.0', 65_535),
    'ws://127.0.0.1:80': ws('127.0.0.1', 80),
    'wss://[::1]:443': wss('::1', 443),
    'ws://[0:0:0:0:0:0:0:1]:1': ws('::1', 1),
    'ws://[::ffff:127.0.0.1]:1': ws('127.0.0.1', 1),
    'ws://[::FFFF:A00:1]:1': ws('10.0.0.1', 1),
    'ws://[::ffff:0:0]:1': ws('0.0.0.0', 1),
    'ws://[::127.0.0.1]:1': ws('::7f00:1', 1),
    'unix:///run/sluice.sock': { kind: 'unix', path: '/run/sluice.sock' },
    'unix:///a b/c%20d/%25': { kind: 'unix', path: '/a b/c d/%' },
  };
  for (const [url, endpoint] of Object.entries(accepted)) {
    test(`${url} is accepted`, () => assert.deepEqual(parseListenUrl(url), endpoint));
  }

  test('needs an IP address and a port', () => {
    for (const host of [
      'localhost:1',
      '127.0.0.1',
      '127.0.0.1:65536',
      '::1:1',
      '[127.0.0.1]:1',
      '127.1:1',
      '127.0.0.01:1',
      ':1',
      '',
    ]) {
      assert.throws(() => parseListenUrl(`ws://${host}`), {
        name: 'EndpointError',
        message: `invalid listen URL "ws://${host}"; expected an IP address and a port, as in ws://127.0.0.1:4500 or ws://[::1]:4500`,
      });
    }
  });

  test('has no path', () => {
    assert.throws(
      () => parseListenUrl('ws://127.0.0.1:1/x'),
      /^EndpointError: invalid listen URL "ws:\/\/127\.0\.0\.1:1\/x"; expected/,
    );
  });

  test('of an unknown kind is refused with a list of the known ones', () => {
    for (const url of ['http://127.0.0.1:1', '127.0.0.1:1', '', 'WS://127.0.0.1:1', 'stdio:']) {
      assert.throws(() => parseListenUrl(url), {
        message: `unsupported listen URL "${url}"; expected ws://IP:PORT, wss://IP:PORT, unix:///PATH or stdio`,
      });
    }
  });
});

describe('an address to connect to', () => {
  test('may be a host name, and has the default port of its scheme', () => {
    assert.deepEqual(parseConnectUrl('ws://localhost:4500'), ws('localhost', 4500));
    assert.deepEqual(parseConnectUrl('wss://Build-7.example.com'), wss('build-7.example.com', 443));
    assert.deepEqual(parseConnectUrl('ws://[::1]'), ws('::1', 80));
    assert.deepEqual(parseConnectUrl('unix:///run/s'), { kind: 'unix', path: '/run/s' });
  });

  test('is neither stdio nor port 0 nor a number that only looks like an address', () => {
    for (const url of [
      'stdio',
      'ws://localhost:0',
      'ws://127.1:1',
      'ws://0x7f.1',
      'ws://2130706433',
      'ws://-a',
      'ws://a..b',
      'ws://ä',
    ]) {
      assert.throws(() => parseConnectUrl(url), EndpointError, url);
    }
  });
});

describe('the path of a Unix socket', () => {
  test('is absolute and names a file', () => {
    for (const url of ['unix://relative', 'unix://', 'unix:///', 'unix:///folder/', 'unix:///a%00b']) {
      assert.throws(
        () => parseListenUrl(url),
        /expected unix:\/\/ and an absolute path, as in unix:\/\/\/run\/sluice\.sock/,
        url,
      );
    }
  });

  test('is not longer than the system allows', () => {
    const longest = `/${'x'.repeat(106)}`;
    assert.deepEqual(parseListenUrl(`unix://${longest}`), { kind: 'unix', path: longest });
    assert.throws(() => parseListenUrl(`unix://${longest}x`), /a socket path may have at most 107 bytes, this one has 108/);
    assert.throws(() => parseListenUrl(`unix:///${'é'.repeat(60)}`), /at most 107 bytes, this one has 121/);
  });

  test('with a stray % is refused with the right way to write it', () => {
    assert.throws(() => parseListenUrl('unix:///100%'), /%25/);
  });
});

describe('secrets in addresses', () => {
  const hidden = {
    'a password': ['ws://me:hunter2@127.0.0.1:1', 'ws://…@127.0.0.1:1'],
    'a user': ['wss://hunter2@host', 'wss://…@host'],
    'a password with an @': ['ws://me:x@hunter2@host', 'ws://…@host'],
    'a query': ['ws://127.0.0.1:1/?token=hunter2', 'ws://127.0.0.1:1/…'],
    'a fragment': ['ws://127.0.0.1:1#hunter2', 'ws://127.0.0.1:1…'],
    'a query of a socket': ['unix:///run/s?token=hunter2', 'unix:///run/s…'],
    'a password of another scheme': ['http://me:hunter2@host', 'http://…@host'],
  };
  for (const [what, [url = '', shown = '']] of Object.entries(hidden)) {
    test(`${what} is refused and not repeated`, () => {
      for (const parse of [parseListenUrl, parseConnectUrl]) {
        assert.throws(
          () => parse(url),
          (error: Error) => error.message.includes(`"${shown}"`) && !error.message.includes('hunter2'),
        );
      }
    });
  }
});

test('a formatted address parses to the same endpoint', () => {
  const host = fc.oneof(
    fc.ipV4(),
    fc.ipV6().map((address) => usualSpelling(address) ?? assert.fail(address)),
  );
  const path = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((name) => !/[\0/]/.test(name));
  const endpoint = fc.oneof(
    fc.tuple(fc.boolean(), host, fc.nat(65_535)).map(([isSecure, ...rest]) => (isSecure ? wss(...rest) : ws(...rest))),
    path.map((name) => ({ kind: 'unix' as const, path: `/${name}` })),
    fc.constant({ kind: 'stdio' as const }),
  );
  fc.assert(fc.property(endpoint, (each) => assert.deepEqual(parseListenUrl(formatEndpoint(each)), each)));
});

test('a Unix socket and stdio are reached by their user, a loopback address by the machine, all others by the network', () => {
  const endpoints = ['stdio', 'unix:///run/s.sock', 'ws://127.0.0.1:1', 'wss://[::1]:1', 'ws://0.0.0.0:1', 'wss://[fe80::1]:1'];
  assert.deepEqual(
    endpoints.map((url) => reachOf(parseListenUrl(url))),
    ['user', 'user', 'machine', 'machine', 'network', 'network'],
  );
});

test('loopback is 127.0.0.0/8, also in its IPv6-mapped form, and ::1, but no name', () => {
  const loopback = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:7f00:1', '::ffff:127.0.0.1', '0:0:0:0:0:FFFF:7fff:fffe'];
  const others = ['0.0.0.0', '::', '128.0.0.1', '127.example.com', 'localhost', '::7f00:1', '::ffff:8000:1', '10.0.0.1'];
  assert.deepEqual(
    [...loopback, ...others].filter((host) => reachOf(ws(host, 1)) === 'machine'),
    loopback,
  );
});
