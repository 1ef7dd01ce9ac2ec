// The contract over a listening server: all tests share one, and a test that sets limits gets its own.

import { after, before, describe } from 'node:test';
import { connect } from '#src/index.js';
import type { Client } from '#src/client/index.js';
import { execContract } from '../contract/exec-contract.js';
import { SluiceServer, limitFlags } from '../support/sluice-server.js';

export function remoteContract(kind: 'websocket' | 'unix'): void {
  describe(`over a ${kind === 'unix' ? 'Unix socket' : 'WebSocket'}`, () => {
    let shared: SluiceServer;
    before(async () => {
      shared = await SluiceServer.start(kind);
    });
    after(async () => shared[Symbol.asyncDispose]());

    execContract({
      name: 'remote',
      backend: 'linux',
      connect: ({ limits } = {}) => (limits === undefined ? connect(shared.url) : connectToOwn(kind, limits)),
    });
  });
}

/** Closing the client also stops its server, and waits for it to exit. */
async function connectToOwn(kind: 'websocket' | 'unix', limits: Readonly<Record<string, number>>): Promise<Client> {
  const server = await SluiceServer.start(kind, limitFlags(limits));
  const client = await connect(server.url);
  const close = client.close.bind(client);
  return Object.assign(client, {
    close: async () => {
      await close();
      await server[Symbol.asyncDispose]();
    },
  });
}
