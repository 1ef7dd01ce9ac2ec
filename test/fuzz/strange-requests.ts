// What an HTTP server may receive in place of a valid WebSocket handshake.

import type { Input } from './cases.js';
import type { Random } from '../support/random.js';

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** None of them is valid: a server that requires credentials refuses them all. */
function strangeCredentials(random: Random): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const jwt = () => {
    const head = { alg: random.pick(['HS256', 'none', 'EdDSA', '', 7, null]), typ: random.pick(['JWT', 'x', 0, undefined]) };
    const claims = { exp: random.pick([2 ** 40, 0, -1, 1e300, '1', null]), sub: random.pick(['a', 1, 'x'.repeat(600)]) };
    return [
      part(head),
      part(random.pick<unknown>([claims, [], null, 'x'])),
      random.bytes(random.below(40)).toString('base64url'),
    ];
  };
  return random.pick([
    () => `Authorization: Bearer ${jwt().join('.')}`,
    () =>
      `Authorization: Bearer ${jwt()
        .slice(random.below(3))
        .join(random.pick(['.', '..', '']))}`,
    () =>
      `Authorization: ${random.pick(['Bearer', 'bearer  x', 'Basic eDp5', 'Bearer \xff\x00', `Bearer ${'t'.repeat(9_000)}`])}`,
    () => `Authorization: Bearer a\r\nAuthorization: Bearer b`,
    () => `Sec-WebSocket-Protocol: sluice.v0, sluice.bearer.${random.pick(['', '%', 'AA', jwt().join('.')])}`,
  ])();
}

/** One request, or something resembling one. The server answers or hangs up; either way the connection ends. */
export function strangeRequest(random: Random): Input {
  const head = ['GET / HTTP/1.1', 'Host: 127.0.0.1', ...upgrade];
  const text = random.pick([
    () => random.bytes(random.below(300)).toString('latin1'),
    () => `${head.join('\r\n')}\r\nOrigin: http://evil.test\r\n\r\n`,
    () => `${head.join('\r\n')}\r\n${strangeCredentials(random)}\r\n\r\n`,
    () => `${head.join('\r\n')}\r\n${strangeCredentials(random)}\r\n\r\n`,
    () => `${head.join('\r\n').replace('127.0.0.1', 'evil.test')}\r\n\r\n`,
    () =>
      `${head.filter((_, index) => index !== 1 + random.below(5)).join('\r\n')}\r\nX: ${'y'.repeat(random.below(200))}\r\n\r\n`,
    () => `${head.join('\r\n')}\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    () => `${head.join('\r\n')}\r\n${'A: b\r\n'.repeat(3_000)}\r\n`,
    () => `${head.join(random.pick(['\n', '\r', '\r\n ']))}\r\n\r\n`,
    () => head.join('\r\n').slice(0, random.below(150)),
    () =>
      `${random.pick(['POST', 'CONNECT', 'OPTIONS', 'PRI', 'gEt', '\0'])} ${random.pick(['/', '*', '//', 'x', ''])} HTTP/1.1\r\nHost: x\r\n\r\n`,
    () =>
      `GET ${random.pick(['/metrics', '/healthz', '/%00', '/?token=x', `/${'a'.repeat(9_000)}`])} HTTP/${random.pick(['1.0', '1.1', '2.0'])}\r\nHost: 127.0.0.1\r\n\r\n`,
    () =>
      `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  ])();
  return { bytes: Buffer.from(text, 'latin1'), meaning: { kind: 'fatal' }, label: 'strange request' };
}
