// Listens on this machine for programs whose connections are forwarded.

import { once } from 'node:events';
import { createServer } from 'node:net';
import type { LocalAddress, LocalConnection, LocalListener } from '../client/index.js';
import { joinSocket } from '../transport/joined-socket.js';

/** Only programs of this machine can connect to this address. */
const loopback = '127.0.0.1';

export async function listen(at: LocalAddress, accept: (connection: LocalConnection) => void): Promise<LocalListener> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) =>
    accept({ join: (flow) => joinSocket(socket, flow) }),
  );
  if ('path' in at) server.listen(at.path);
  else server.listen(at.port ?? 0, at.host ?? loopback);
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null) throw new Error('the listener was closed before it could be used');
  return {
    address: typeof bound === 'string' ? { path: bound } : { host: bound.address, port: bound.port },
    close: async () => {
      server.close(() => {}); // resolves without the connections, which may last for hours
    },
  };
}
