// Sends raw, possibly invalid HTTP requests exactly as given.

import { once } from 'node:events';
import { connect } from 'node:net';
import type { SluiceServer } from '../support/sluice-server.js';

export const upgradeHeaders = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** Everything the server sends until it closes the connection; our side is ended at once, so that it does not wait for more. */
export async function answerTo(server: SluiceServer, text: string): Promise<string> {
  const { port, hostname } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', () => {}); // the server may close the connection before it has read everything
  socket.end(Buffer.from(text, 'latin1'));
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('latin1');
}

/** The request line, the right Host and these headers; a body may be appended. */
export function request(server: SluiceServer, line: string, headers: readonly string[] = []): string {
  return [`${line} HTTP/1.1`, `Host: ${new URL(server.url).host}`, ...headers, '', ''].join('\r\n');
}

/** The status codes of all responses in a text, in order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
