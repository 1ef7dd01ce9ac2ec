// HTTP responses to requests that do not become a WebSocket.

import type { Duplex } from 'node:stream';

export interface HttpAnswer {
  readonly status: number;
  /** Usually plain text for people. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer that is not available at once. A body that is a stream is read while it is sent, at the client's pace. */
export interface LaterAnswer extends Omit<HttpAnswer, 'body'> {
  readonly body: string | AsyncIterable<Uint8Array>;
}

/** An answer that needs no waiting is returned synchronously: a client that has ended its side of the connection would miss a later one. */
export type Answering = HttpAnswer | Promise<LaterAnswer>;

/** The response to a refused WebSocket upgrade. */
export interface Refusal {
  readonly ok: false;
  readonly status: number;
  /** Plain text for people. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function plainAnswer(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { status, body: text, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } };
}

/** Answers without node:http and closes. Discards all further input, so that no second request can be smuggled in behind the first. */
export function answerAndClose(socket: Duplex, { status, body, headers }: HttpAnswer, nowMs: number): void {
  socket.on('error', () => socket.destroy()); // the client left without waiting for the answer
  const lines = Object.entries({
    connection: 'close',
    date: new Date(nowMs).toUTCString(),
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.resume(); // unread bytes would turn the close into a reset, which can lose the answer
  socket.end(`HTTP/1.1 ${status} \r\n${lines.join('')}\r\n${body}`);
}
