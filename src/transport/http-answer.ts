// What a request that does not become a WebSocket is told.

import type { Duplex } from 'node:stream';

export interface HttpAnswer {
  readonly status: number;
  /** Mostly plain text for a person. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** One that takes its time. Its body may be a stream, which is read while it is sent, at the client's pace. */
export interface LaterAnswer extends Omit<HttpAnswer, 'body'> {
  readonly body: string | AsyncIterable<Uint8Array>;
}

/** What is known at once is answered at once: a client that has ended its side of the connection would miss a later answer. */
export type Answering = HttpAnswer | Promise<LaterAnswer>;

/** A request for a WebSocket that is not granted. */
export interface Refusal {
  readonly ok: false;
  readonly status: number;
  /** Plain text for a person. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function plainAnswer(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { status, body: text, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } };
}

/** Answers without Node's HTTP and closes; what still comes is thrown away, so nothing can be smuggled in behind the request. */
export function answerAndClose(socket: Duplex, { status, body, headers }: HttpAnswer, nowMs: number): void {
  socket.on('error', () => socket.destroy()); // it has gone without waiting for the answer
  const lines = Object.entries({
    connection: 'close',
    date: new Date(nowMs).toUTCString(),
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.resume(); // unread bytes would turn the close into a reset, and the answer might be lost
  socket.end(`HTTP/1.1 ${status} \r\n${lines.join('')}\r\n${body}`);
}
