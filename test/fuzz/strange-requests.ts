// What may knock at an HTTP server's door in place of a good WebSocket handshake.

import type { Input } from './cases.js';
import type { Random } from './random.js';

const upgrade = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** One request, or what looks a little like one. The server answers or hangs up; either way the connection ends. */
export function strangeRequest(random: Random): Input {
  const head = ['GET / HTTP/1.1', 'Host: 127.0.0.1', ...upgrade];
  const text = random.pick([
    () => random.bytes(random.below(300)).toString('latin1'),
    () => `${head.join('\r\n')}\r\nOrigin: http://evil.test\r\n\r\n`,
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
