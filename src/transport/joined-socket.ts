// Joins a socket with a flow: copies both directions at the pace of the slower side and keeps half-closed connections open.

import type { Socket } from 'node:net';
import { FlowResetError, type Flow } from '../rpc/flow.js';

/**
 * The socket must allow half-open connections. Resolves when both are over; never rejects. A socket that fails resets the flow with the
 * reason, and a flow that is reset destroys the socket, so that its other end sees a reset, too.
 */
export async function joinSocket(socket: Socket, flow: Flow): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', (error) => flow.reset(error.message));
  socket.on('close', () => flow.reset('the connection was closed'));
  await Promise.all([copyToFlow(socket, flow), copyToSocket(flow, socket)]).catch((error: unknown) => {
    if (!(error instanceof FlowResetError)) throw error;
    socket.resetAndDestroy();
  });
  await closed;
}

async function copyToFlow(socket: Socket, flow: Flow): Promise<void> {
  const chunks: AsyncIterable<Uint8Array> = socket.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) await flow.write(chunk);
  flow.end();
}

async function copyToSocket(flow: Flow, socket: Socket): Promise<void> {
  for await (const chunk of flow) if (!socket.write(chunk)) await drained(socket);
  socket.end();
}

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
