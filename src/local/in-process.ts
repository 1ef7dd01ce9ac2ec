// A client wired straight to a session of its own: no JSON, no wire, the same behaviour.

import { Client } from '../client/index.js';
import { Server, type ServerOptions, createExecService } from '../server/index.js';

/** Runs processes from this program. Closing the client ends all of them. */
export function connectInProcess(options: ServerOptions = {}): Client {
  const server = new Server(options);
  const session = server.openSession();
  const link = {
    service: createExecService(session),
    follow: session.follow.bind(session),
    ended: server.closed,
    close: () => server.close(),
  };
  return new Client(link, { clock: server.clock });
}
