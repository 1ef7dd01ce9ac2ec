// Plain HTTP on a connection that one of our listeners has accepted: Node parses requests and writes responses, `answer` decides what to
// respond. Loading node:http takes 10 ms and 2 MB, so it is loaded with the first such request.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Clock, Timer } from '../base/clock.js';
import type { Answering, LaterAnswer } from './http-answer.js';
import { headersFrom, longestHeadBytes, type RequestHead } from './http-head.js';

/** Timeouts in milliseconds. We enforce them, because Node checks for slow clients only on servers that listen, and ours does not. */
export const httpDeadlines = {
  /** For a TLS handshake, and for the head of the first request. */
  headMs: 10_000,
  /** For a body, from the end of its head. */
  bodyMs: 30_000,
  /** From an answer to the end of the next head. Includes the rest of a body that no route has read. */
  idleMs: 10_000,
  /** While an answer is prepared or sent, without a byte in either direction. */
  stalledMs: 60_000,
};

/** Requests per connection; the answer to the last one closes it. Bounds how many requests a client can pipeline. */
const maxRequests = 1_000;

export interface HttpConnectionOptions {
  readonly clock: Clock;
  /** Called for every request. When the promise rejects, the connection is destroyed. */
  readonly answer: (request: RequestHead) => Answering;
}

/** Takes ownership of the paused socket. `received` is everything read from it so far, starting with the head of a request. */
export async function serveHttp(socket: Socket, received: Buffer, { clock, answer }: HttpConnectionOptions): Promise<void> {
  socket.unshift(received);
  socket.on('error', () => socket.destroy()); // it may fail before Node has added its own listener
  const { createServer } = await import('node:http');
  if (socket.destroyed) return;

  let timer: Timer | undefined;
  let latest: ServerResponse | undefined;
  const cutOffAfter = (ms: number, isDone: () => boolean): void => {
    timer?.cancel();
    timer = clock.afterIdle(ms, () => void (isDone() || socket.destroy()));
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    latest = response;
    cutOffAfter(httpDeadlines.bodyMs, () => request.complete);
    response.once('close', () => {
      // Answers are sent in the order of the requests, so no answer is pending after the latest one.
      if (latest === response && !socket.destroyed) cutOffAfter(httpDeadlines.idleMs, () => false);
    });
    const { method = '', url = '', rawHeaders } = request;
    const answering = answer({ method, url, headers: headersFrom(rawHeaders) });
    if (answering instanceof Promise)
      answering.then(
        (answered) => send(response, answered),
        () => socket.destroy(),
      );
    else send(response, answering);
  };

  // One server per connection: it is small, never listens, and saves us a table of connections.
  const server = createServer({
    maxHeaderSize: longestHeadBytes,
    insecureHTTPParser: false, // even if Node runs with --insecure-http-parser
    requireHostHeader: false, // `answer` reports a bad Host header in its own words
    keepAliveTimeout: httpDeadlines.idleMs, // sent to the client in the Keep-Alive header
  });
  server.maxHeadersCount = 0; // with a maximum Node silently drops further headers, and Origin may be among them
  server.maxRequestsPerSocket = maxRequests;
  server.timeout = httpDeadlines.stalledMs;
  // By default Node would request the body with 100 Continue before `answer` has seen the request.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, serve);
  server.emit('connection', socket);
  socket.once('close', () => timer?.cancel()).resume();
}

function send(response: ServerResponse, { status, headers, body }: LaterAnswer): void {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  if (typeof body === 'string') response.end(body);
  else pipeline(body, response, () => {}); // a body that fails destroys the connection, so that no client mistakes it for complete
}
