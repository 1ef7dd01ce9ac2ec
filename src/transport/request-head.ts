// Waits for the head of the first request on a connection, with a time limit and a size limit.

import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { answerAndClose, plainAnswer } from './http-answer.js';
import { httpDeadlines } from './http-connection.js';
import { headEnd, longestHeadBytes, parseHead, type RequestHead } from './http-head.js';

/** `bytes` is everything that was read; `rest` is the part of it after the head. */
type Receive = (request: RequestHead, bytes: Buffer, rest: Buffer) => void;

/**
 * Pauses the socket and calls `receive` with the head. When the connection ends first, or the head is too slow, too long or malformed, it
 * is answered here and closed.
 */
export function awaitHead(socket: Duplex, clock: Clock, receive: Receive): void {
  const { headMs } = httpDeadlines;
  let bytes: Buffer = Buffer.alloc(0);
  const refuse = (status: number, text: string): void => {
    stop();
    answerAndClose(socket, plainAnswer(status, text), clock.now());
  };
  const timer = clock.afterIdle(headMs, () => refuse(408, `no request within ${headMs} ms`));
  const stop = (): void => {
    timer.cancel();
    socket.off('data', take).off('error', destroy).off('end', ended).off('close', stop);
  };
  const destroy = (): void => void socket.destroy();
  const ended = (): void => (bytes.length === 0 ? destroy() : refuse(400, 'the request is not complete'));

  function take(piece: Buffer): void {
    const searched = Math.max(0, bytes.length - headEnd.length + 1);
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece]);
    const end = bytes.indexOf(headEnd, searched, 'latin1');
    if (end > longestHeadBytes || (end < 0 && bytes.length > longestHeadBytes)) {
      return refuse(431, `the head of a request may have at most ${longestHeadBytes} bytes`);
    }
    if (end < 0) return;
    const request = parseHead(bytes.toString('latin1', 0, end));
    if (request === undefined) return refuse(400, 'the request is malformed');
    stop();
    socket.pause();
    receive(request, bytes, bytes.subarray(end + headEnd.length));
  }

  socket.on('data', take).on('error', destroy).on('end', ended).on('close', stop);
}
