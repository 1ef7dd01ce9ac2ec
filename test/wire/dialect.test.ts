// The Codex dialect, over every transport.

import { after, before, describe } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overStdio, overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { SluiceServer } from '../support/sluice-server.js';
import { dialect } from './dialect.js';

describe('on the wire', () => {
  guardAgainstLeaks();
  describe('one server per transport', servers);
});

/** A nested suite, so that the servers have ended when the leak guard checks. */
function servers(): void {
  let webSocket: SluiceServer;
  let unix: SluiceServer;
  before(async () => {
    webSocket = await SluiceServer.start('websocket');
    unix = await SluiceServer.start('unix');
  });
  after(async () => {
    await webSocket[Symbol.asyncDispose]();
    await unix[Symbol.asyncDispose]();
  });

  dialect('stdio', () => overStdio());
  dialect('WebSocket', () => overWebSocket(webSocket.url));
  dialect('Unix socket', () => overUnixSocket(unix.url));
}
