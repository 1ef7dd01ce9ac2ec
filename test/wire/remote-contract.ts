// The contract over a server that listens.

import { connect } from '#src/index.js';
import type { Client } from '#src/client/index.js';
import { execContract } from '../contract/exec-contract.js';
import { SluiceServer, limitFlags } from '../support/sluice-server.js';

export function remoteContract(kind: 'websocket' | 'unix'): void {
  execContract({
    name: `over a ${kind === 'unix' ? 'Unix socket' : 'WebSocket'}`,
    backend: 'linux',
    connect: async ({ limits } = {}) => {
      const server = await SluiceServer.start(kind, limitFlags(limits));
      try {
        return ownedBy(await connect(server.url), server);
      } catch (error) {
        await server[Symbol.asyncDispose]();
        throw error;
      }
    },
  });
}

/** Closing the client ends its server too, and waits for that. */
function ownedBy(client: Client, server: SluiceServer): Client {
  const close = client.close.bind(client);
  return Object.assign(client, {
    close: async () => {
      await close();
      await server[Symbol.asyncDispose]();
    },
  });
}
