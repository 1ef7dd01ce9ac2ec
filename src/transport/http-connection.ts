// Plain HTTP on a connection that one of our listeners has accepted: Node parses and writes, the owner's `answer` decides. Node's HTTP takes
// 10 ms and 2 MB, so it is loaded with the first such request.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';
import type { Clock, Timer } from '../base/clock.js';
import type { Answering, LaterAnswer } from './http-answer.js';
import { headersFrom, longestHeadBytes, type RequestHead } from './http-head.js';

/** Longest waits, in milliseconds. All of them are ours: Node looks for slow clients only on servers that listen, and the one below does not. */
export const httpDeadlines = {
  /** A TLS handshake; the head of the first request. */
  headMs: 10_000,
  /** A body, from the end of its head. */
  bodyMs: 30_000,
  /** From an answer to the end of the next head. The rest of a body that no route has read must fit in, too. */
  idleMs: 10_000,
  /** An answer that is made or sent, without a byte in either direction. */
  stalledMs: 60_000,
};

/** Requests on one connection; the answer to the last one closes it. Bounds how many a client can send without waiting for answers. */
const maxRequests = 1_000;

export interface HttpConnectionOptions {
  readonly clock: Clock;
  /** Called for every request. An answer that fails cuts the connection off. */
  readonly answer: (request: RequestHead) => Answering;
}

/** Owns the paused socket from now on. `received` is everything that was read from it, beginning with the head of a request. */
export async function serveHttp(socket: Socket, received: Buffer, { clock, answer }: HttpConnectionOptions): Promise<void> {
  socket.unshift(received);
  socket.on('error', () => socket.destroy()); // it may fail before Node listens for that
  const { createServer } = await import('node:http');
  if (socket.destroyed) return;

  let timer: Timer | undefined;
  let latest: ServerResponse | undefined;
  const cutOffAfter = (ms: number, isOver: () => boolean): void => {
    timer?.cancel();
    timer = clock.afterIdle(ms, () => void (isOver() || socket.destroy()));
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    latest = response;
    cutOffAfter(httpDeadlines.bodyMs, () => request.complete);
    response.once('close', () => {
      // Answers go out in the order of the requests, so this one is the last.
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

  // One server for each connection: it is small, it never listens, and what it serves needs no table.
  const server = createServer({
    maxHeaderSize: longestHeadBytes,
    insecureHTTPParser: false, // also when a flag of Node's says otherwise
    requireHostHeader: false, // the owner says in its own words what is wrong with the Host
    keepAliveTimeout: httpDeadlines.idleMs, // announced to the client
  });
  server.maxHeadersCount = 0; // beyond a maximum Node drops headers silently, and an Origin may be among them
  server.maxRequestsPerSocket = maxRequests;
  server.timeout = httpDeadlines.stalledMs;
  // Node would invite a body with 100 Continue before the request was judged.
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, serve);
  server.emit('connection', socket);
  socket.once('close', () => timer?.cancel()).resume();
}

function send(response: ServerResponse, { status, headers, body }: LaterAnswer): void {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  if (typeof body === 'string') response.end(body);
  else pipeline(body, response, () => {}); // a body that fails cuts the connection off, so that no client takes it for whole
}
