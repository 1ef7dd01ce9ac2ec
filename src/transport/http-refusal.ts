// How a connection that wanted to become a WebSocket is told that it will not.

import type { Duplex } from 'node:stream';

export interface Refusal {
  readonly ok: false;
  readonly status: number;
  /** Plain text for a person. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers by hand, because Node gives no response object for an upgrade, and closes. */
export function refuseUpgrade(socket: Duplex, { status, text, headers = {} }: Omit<Refusal, 'ok'>): void {
  socket.on('error', () => socket.destroy()); // it has gone without waiting for the answer
  const lines = Object.entries({
    connection: 'close',
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} \r\n${lines.join('')}\r\n${text}`);
}
