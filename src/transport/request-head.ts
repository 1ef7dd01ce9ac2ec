// Waits for the head of the one request a connection may make: not for ever, and not for any length of it.

import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.js';
import { answerAndClose, plainAnswer } from './http-answer.js';
import { headEnd, parseHead, type RequestHead } from './http-head.js';

/** As much as Node's own HTTP takes. */
const longestHeadBytes = 16 * 1024;

export interface HeadPatience {
  readonly clock: Clock;
  readonly handshakeMs: number;
}

/**
 * Calls back with the head and whatever has come behind it; the socket is paused then. A connection that ends before, or whose head is
 * too slow, too long or malformed, is answered here and closed.
 */
export function awaitHead(socket: Duplex, patience: HeadPatience, received: (head: RequestHead, rest: Buffer) => void): void {
  const { clock, handshakeMs } = patience;
  let bytes: Buffer = Buffer.alloc(0);
  const refuse = (status: number, text: string): void => {
    stop();
    answerAndClose(socket, plainAnswer(status, text), clock.now());
  };
  const timer = clock.afterIdle(handshakeMs, () => refuse(408, `no request within ${handshakeMs} ms`));
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
      return refuse(431, `the head of a request has at most ${longestHeadBytes} bytes`);
    }
    if (end < 0) return;
    const head = parseHead(bytes.toString('latin1', 0, end));
    if (head === undefined) return refuse(400, 'the request is malformed');
    stop();
    socket.pause();
    received(head, bytes.subarray(end + headEnd.length));
  }

  socket.on('data', take).on('error', destroy).on('end', ended).on('close', stop);
}
