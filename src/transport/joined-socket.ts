// Joins a socket with a flow: copies both directions at the pace of the slower side and keeps half-closed connections open. Uses events
// instead of iterators, which take longer than the system calls of a short message.

import type { Socket } from 'node:net';
import type { Flow } from '../rpc/flow.js';

/** Bytes that wait for a socket before the flow waits for it. A socket takes most chunks at once, and waiting for each one takes turns. */
const queuedBytes = 256 * 1024;

/**
 * The socket must allow half-open connections. Resolves when both are over; never rejects. A socket that fails resets the flow with the
 * reason, and a flow that is reset destroys the socket, so that its other end sees a reset, too.
 */
export async function joinSocket(socket: Socket, flow: Flow): Promise<void> {
  if (socket.destroyed) return flow.reset('the connection was closed');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', (error) => flow.reset(error.message));
  socket.on('close', () => {
    // After both directions have ended, the peer may still have bytes to read.
    if (!socket.readableEnded || !socket.writableFinished) flow.reset('the connection was closed');
  });
  socket.on('data', (chunk: Uint8Array) => {
    flow.write(chunk).catch(() => {}); // a flow that was reset ends the other direction, too
    if (!flow.hasRoom) void pauseUntilRoom(socket, flow);
  });
  socket.on('end', () => flow.end());
  socket.resume(); // it may have been paused until it was joined
  try {
    await copyToSocket(flow, socket);
    socket.end();
    if ((await flow.over) !== undefined) abort(socket);
  } catch {
    abort(socket); // the flow was reset
  }
  await closed;
}

/** Only TCP has resets, and libuv refuses one while the socket is being shut down; Node would then never close it. */
function abort(socket: Socket): void {
  if (socket.remoteFamily === undefined || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

async function pauseUntilRoom(socket: Socket, flow: Flow): Promise<void> {
  socket.pause();
  await flow.waitForRoom();
  socket.resume();
}

async function copyToSocket(flow: Flow, socket: Socket): Promise<void> {
  for (let chunk = await flow.read(); chunk !== undefined; chunk = await flow.read()) {
    socket.write(chunk);
    if (socket.writableLength > queuedBytes) await drained(socket);
  }
}

/** Or closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
