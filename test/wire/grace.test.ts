// Processes that end because their connection, session or server ends: each gets SIGTERM first, and its own grace period.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overStdio, overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };

/** Too short to clean up in, so that a process that did clean up must have had its own grace period. */
const littleGrace = ['--force-after-ms', '1'];

class Folder implements Disposable {
  readonly #path = mkdtempSync(join(tmpdir(), 'sluice-'));
  /** Exists when the process has cleaned up. */
  readonly file = join(this.#path, 'cleaned');

  [Symbol.dispose](): void {
    rmSync(this.#path, { recursive: true });
  }
}

/** Starts a process that takes a moment to clean up on SIGTERM. */
async function startTidy(peer: RawPeer, { file }: Folder): Promise<number> {
  const argv = ['sh', '-c', 'trap "sleep 0.3; echo done > $1; exit" TERM; echo up; while :; do sleep 0.05; done', 'sh', file];
  const started = await peer.request('process/start', { processId: 'tidy', argv, cwd: '/', env, forceAfterMs: 60_000 });
  await peer.notification('process/output', 'tidy');
  return Number(resultOf(started)['pid']);
}

describe('the grace period of a process', () => {
  guardAgainstLeaks();

  for (const [kind, open] of [
    ['websocket', overWebSocket],
    ['unix', overUnixSocket],
  ] as const) {
    test(`applies when its connection is lost: ${kind}`, async () => {
      using folder = new Folder();
      await using server = await SluiceServer.start(kind, littleGrace);
      const peer = await open(server.url);
      await peer.greet();
      const pid = await startTidy(peer, folder);
      await peer[Symbol.asyncDispose]();
      await eventually(async () => assert.deepEqual(await living([pid]), []));
      assert.ok(existsSync(folder.file));
    });
  }

  test('applies when no client resumes its session in time', async () => {
    using folder = new Folder();
    await using server = await SluiceServer.start('websocket', [...littleGrace, '--detach-grace-ms', '1']);
    const peer = await overWebSocket(server.url);
    await peer.greet({ resumeSessionId: null });
    const pid = await startTidy(peer, folder);
    await peer[Symbol.asyncDispose]();
    await eventually(async () => assert.deepEqual(await living([pid]), []));
    assert.ok(existsSync(folder.file));
  });

  test('applies when its session is closed, which is answered afterwards', async () => {
    using folder = new Folder();
    await using server = await SluiceServer.start('websocket', littleGrace);
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const pid = await startTidy(peer, folder);
    resultOf(await peer.request('session/close'));
    assert.deepEqual([existsSync(folder.file), await living([pid])], [true, []]);
  });

  test('applies when the stdin of a server on stdio ends', async () => {
    using folder = new Folder();
    const peer = await overStdio(littleGrace);
    await peer.greet();
    const pid = await startTidy(peer, folder);
    await peer[Symbol.asyncDispose]();
    await peer.closed;
    assert.deepEqual([existsSync(folder.file), await living([pid])], [true, []]);
  });

  test('applies when the server is asked to stop', async () => {
    using folder = new Folder();
    const server = await SluiceServer.start('websocket', littleGrace);
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const pid = await startTidy(peer, folder);
    assert.equal(await server.stop(), 0);
    assert.deepEqual([existsSync(folder.file), await living([pid])], [true, []]);
  });

  test('applies to what earlier processes of its session have left running', async () => {
    using folder = new Folder();
    await using server = await SluiceServer.start('websocket', littleGrace);
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const daemon =
      'trap "sleep 0.3; echo done > $1; exit" TERM; echo pid $$; exec > /dev/null 2>&1; while :; do sleep 0.05; done';
    const argv = ['sh', '-c', `sh -c '${daemon}' sh "$1" &`, 'sh', folder.file];
    resultOf(await peer.request('process/start', { processId: 'left', argv, cwd: '/', env, forceAfterMs: 60_000 }));
    await peer.notification('process/closed', 'left');
    const pid = Number(/pid (\d+)/.exec(peer.outputOf('left'))?.[1]);
    assert.deepEqual(await living([pid]), [pid]);
    resultOf(await peer.request('session/close'));
    assert.deepEqual([existsSync(folder.file), await living([pid])], [true, []]);
  });

  test('does not exist for a one-shot command', async () => {
    using folder = new Folder();
    await using server = await SluiceServer.start('websocket');
    const peer = await overWebSocket(server.url);
    await peer.greet();
    const script = `trap "echo done > ${folder.file}; exit" TERM; echo $$; while :; do sleep 0.05; done`;
    const command = {
      command: ['sh', '-c', script],
      processId: 'c',
      streamStdoutStderr: true,
      sandboxPolicy: { type: 'dangerFullAccess' },
    };
    peer.send(JSON.stringify({ id: 1, method: 'command/exec', params: command }));
    const delta = await peer.find(({ method }) => method === 'command/exec/outputDelta', 'output');
    const { deltaBase64 } = delta['params'] as { deltaBase64: string };
    const pid = Number(Buffer.from(deltaBase64, 'base64').toString());
    await peer[Symbol.asyncDispose]();
    await eventually(async () => assert.deepEqual(await living([pid]), []));
    assert.equal(existsSync(folder.file), false);
  });
});

describe('during the grace period of processes', () => {
  guardAgainstLeaks();

  const deaf = { argv: ['sh', '-c', `trap '' TERM; echo up; while :; do sleep 1; done`], cwd: '/', env, forceAfterMs: 60_000 };

  test('they still count against their caller’s limit', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-processes-per-token', '1']);
    const first = await overWebSocket(server.url);
    await first.greet();
    resultOf(await first.request('process/start', { processId: 'deaf', ...deaf }));
    await first.notification('process/output', 'deaf');
    await first[Symbol.asyncDispose]();
    await using second = await overWebSocket(server.url);
    await second.greet();
    const start = async () => second.request('process/start', { processId: 'next', argv: ['true'], cwd: '/', env });
    assert.deepEqual(errorOf(await start()).data, { kind: 'tooManyProcesses', limit: 1 });
    await eventually(async () => resultOf(await start()));
  });

  test('a stopping server opens no more sessions', async () => {
    const server = await SluiceServer.start('websocket');
    await using owner = await overWebSocket(server.url);
    await using late = await overWebSocket(server.url);
    await owner.greet();
    const script = `trap 'echo asked; sleep 1' TERM; echo up; while :; do sleep 0.05; done`;
    resultOf(await owner.request('process/start', { processId: 'p', ...deaf, argv: ['sh', '-c', script] }));
    await owner.notification('process/output', 'p');
    const stopped = server.stop();
    await eventually(() => assert.match(owner.outputOf('p'), /asked/));
    const { data } = errorOf(await late.request('initialize', { clientName: 'raw' }));
    assert.deepEqual(data, { kind: 'sessionClosed', sessionId: '' });
    assert.equal(await stopped, 0);
  });
});
