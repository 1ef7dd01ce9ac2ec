// One-shot commands, over stdio and WebSocket.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { commandExec } from './command-exec.js';

describe('one-shot commands', () => {
  guardAgainstLeaks();
  describe('on a shared server', shared);
});

/** A nested suite, so that the server has ended when the leak guard checks. */
function shared(): void {
  let server: SluiceServer;
  before(async () => (server = await SluiceServer.start('websocket')));
  after(() => server[Symbol.asyncDispose]());

  commandExec('stdio', () => overStdio());
  commandExec('WebSocket', () => overWebSocket(server.url));

  test('of one connection cannot be reached from another', async () => {
    await using one = await overWebSocket(server.url);
    await using other = await overWebSocket(server.url);
    for (const peer of [one, other]) await peer.greet();
    const run = { id: 1, method: 'command/exec', params: { command: ['cat'], processId: 'same', streamStdin: true } };
    one.send(JSON.stringify(run));
    assert.equal(errorOf(await other.request('command/exec/terminate', { processId: 'same' })).code, -32600);
    other.send(JSON.stringify(run));
    for (const peer of [other, one]) {
      await peer.request('command/exec/write', { processId: 'same', closeStdin: true });
      assert.equal(resultOf(await peer.reply(1))['exitCode'], 0);
    }
  });
}

describe('a server with options', () => {
  guardAgainstLeaks();

  test('refuses one-shot commands when direct commands are not allowed', async () => {
    await using peer = await overStdio(['--no-direct-exec']);
    await peer.greet();
    const { code, message } = errorOf(await peer.request('command/exec', { command: ['true'] }));
    assert.deepEqual([code, message], [-32600, 'this server does not allow direct commands']);
  });

  test('counts one-shot commands against the caller’s process limit', async () => {
    await using peer = await overStdio(['--max-processes-per-token', '1']);
    await peer.greet();
    peer.send(JSON.stringify({ id: 1, method: 'command/exec', params: { command: ['cat'], processId: 'p', streamStdin: true } }));
    assert.equal(errorOf(await peer.request('command/exec', { command: ['true'] })).code, -32021);
    await peer.request('command/exec/write', { processId: 'p', closeStdin: true });
    await peer.reply(1);
    assert.equal(resultOf(await peer.request('command/exec', { command: ['true'] }))['exitCode'], 0);
  });

  test('keeps at most its limit for a reply, even if the caller disables the output cap', async () => {
    await using peer = await overStdio(['--max-reply-bytes', '1000']);
    await peer.greet();
    const params = { command: ['head', '-c', '5000', '/dev/zero'], disableOutputCap: true };
    const { stdout, stdoutCapReached, stdoutBytes } = resultOf(await peer.request('command/exec', params));
    assert.deepEqual([String(stdout).length, stdoutCapReached, stdoutBytes], [1_000, true, 5_000]);
  });
});
