// A process in the shape that the Claude Agent SDK expects.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect, connectInProcess } from '#src/index.js';
import { type SdkProcess, sluiceSpawn } from '#src/runner/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'], UNSET: undefined };

function exitOf(child: SdkProcess): Promise<[number | null, string | null]> {
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
}

async function stdoutOf(child: SdkProcess): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of child.stdout) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

describe('a process for the Agent SDK', () => {
  guardAgainstLeaks();

  test('has stdin, stdout and an exit, wherever it runs', async () => {
    await using server = await SluiceServer.start('unix');
    for (const client of [connectInProcess(), await connect(server.url)]) {
      const stderr: string[] = [];
      const spawn = sluiceSpawn(client, { onStderr: (bytes) => stderr.push(Buffer.from(bytes).toString()) });
      const child = spawn({ command: 'sh', args: ['-c', 'echo warn >&2; cat; exit 3'], cwd: '/', env });
      const exit = exitOf(child);
      child.stdin.write('one\n');
      child.stdin.end('two\n');
      assert.equal(await stdoutOf(child), 'one\ntwo\n');
      assert.deepEqual(await exit, [3, null]);
      assert.deepEqual([child.exitCode, child.signalCode, child.killed, stderr.join('')], [3, null, false, 'warn\n']);
      assert.equal(child.kill(), false);
      await client.close();
    }
  });

  test('has exactly the environment that the SDK provides', async () => {
    await using client = connectInProcess();
    const child = sluiceSpawn(client)({ command: '/usr/bin/env', args: [], env: { ONLY: 'this', UNSET: undefined } });
    assert.equal(await stdoutOf(child), 'ONLY=this\n');
  });

  test('is killed by kill and by the abort signal', async () => {
    await using client = connectInProcess();
    const stop = new AbortController();
    const spawn = sluiceSpawn(client);
    const killed = spawn({ command: 'sleep', args: ['600'], env });
    killed.stdout.resume();
    const exit = exitOf(killed);
    assert.equal(killed.kill('SIGKILL'), true);
    assert.deepEqual([await exit, killed.killed], [[null, 'SIGKILL'], true]);
    const aborted = spawn({ command: 'sleep', args: ['600'], env, signal: stop.signal });
    aborted.stdout.resume();
    const other = exitOf(aborted);
    stop.abort();
    assert.deepEqual(await other, [null, 'SIGTERM']);
  });

  test('emits an error when it cannot be started', async () => {
    await using client = connectInProcess();
    const child = sluiceSpawn(client)({ command: 'no-such-program', args: [], env });
    child.stdout.on('error', () => {});
    const error = await new Promise<Error>((resolve) => child.on('error', resolve));
    assert.match(error.message, /no-such-program/);
  });
});
