// Processes that outlive their session: replaced, forgotten and restarted.

import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Client, type ProcessHandle, type StartOptions, connect, isExecError } from '#src/index.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '', SECRET: 'hush' };

interface ScriptOptions extends StartOptions {
  readonly id: string;
  readonly script: string;
}

function start(client: Client, { script, ...more }: ScriptOptions): Promise<ProcessHandle> {
  return client.start({ argv: ['sh', '-c', script], env, io: { kind: 'pipe', stdin: 'open' }, ...more });
}

async function listed(client: Client): Promise<unknown[]> {
  return (await client.list({ scope: 'all' })).map(({ processId, state }) => [processId, state]);
}

async function logOf(client: Client, id: string, sessionId: string): Promise<string> {
  await using handle = await client.attach(id, { sessionId, follow: false });
  await handle.exit;
  const { chunks } = await handle.read();
  return Buffer.concat(chunks.map(({ chunk }) => chunk)).toString();
}

describe('releasing a process', () => {
  guardAgainstLeaks();

  test('replaces a closed one with the same id on request, never a running one', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const first = await start(client, { id: 'x', script: 'echo first' });
    await first.closed;
    const { sessionId, replaced } = await first.release({ replace: 'ended' });
    assert.equal(replaced, false);
    const second = await start(client, { id: 'x', script: 'echo second; exec sleep 600' });
    await assert.rejects(second.release(), (error) => isExecError(error, 'processExists'));
    assert.deepEqual(await second.release({ replace: 'ended' }), { sessionId, replaced: true });
    assert.deepEqual(await listed(client), [['x', 'running']]);
    await using third = await start(client, { id: 'x', script: 'exec sleep 600' });
    await assert.rejects(third.release({ replace: 'ended' }), (error) => isExecError(error, 'processExists'));
  });

  test('with keepMs 0 forgets it as soon as it has closed, even if it closed before the release', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const later = await start(client, { id: 'later', script: 'read -r line; echo "$line"' });
    const { sessionId } = await later.release({ keepMs: 0 });
    await using viewer = await client.attach('later', { sessionId, role: 'drive' });
    const earlier = await start(client, { id: 'earlier', script: 'echo x' });
    await earlier.closed;
    await earlier.release({ keepMs: 0 });
    await eventually(async () => assert.deepEqual(await listed(client), [['later', 'running']]));
    await viewer.write('last words\n');
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of viewer.output) pieces.push(bytes);
    assert.equal(Buffer.concat(pieces).toString(), 'last words\n');
    await eventually(async () => assert.deepEqual(await listed(client), []));
  });

  test('keeps it no longer than the server’s limit', async () => {
    await using server = await SluiceServer.start('unix', ['--keep-released-ms', '100']);
    await using client = await connect(server.url);
    const child = await start(client, { id: 'x', script: 'echo x' });
    await child.release({ keepMs: 600_000 });
    await eventually(async () => assert.deepEqual(await listed(client), []));
  });
});

describe('forgetting a process', () => {
  guardAgainstLeaks();

  test('frees the id of a released one, and is refused until it has closed', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (await start(client, { id: 'x', script: 'exec sleep 600' })).release();
    {
      await using driver = await client.attach('x', { sessionId, role: 'drive', follow: false });
      await assert.rejects(driver.forget(), (error) => isExecError(error, 'processNotClosed'));
      await driver.terminate();
      await driver.closed;
      assert.equal(await driver.forget(), true);
    }
    assert.deepEqual(await listed(client), []);
    await (await start(client, { id: 'x', script: 'exec sleep 600' })).release();
    assert.deepEqual(await listed(client), [['x', 'running']]);
  });

  test('is refused to a watcher', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (await start(client, { id: 'x', script: 'exit 0' })).release();
    await using watcher = await client.attach('x', { sessionId, role: 'watch', follow: false });
    await assert.rejects(watcher.forget(), (error) => isExecError(error, 'watchOnly'));
  });
});

describe('restarting a process', () => {
  guardAgainstLeaks();

  test('ends it and starts it with the same command, folder, environment, streams, metadata and id', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const script = 'echo "$SECRET in $PWD"; exec cat';
    const more = { restartable: true, cwd: '/usr', metadata: { labels: { tier: 'web' } } };
    const first = await start(client, { id: 'x', script, ...more });
    const { sessionId } = await first.release();
    const [before] = await client.list({ scope: 'all' });
    const { pid } = await client.restart('x', { sessionId });
    assert.deepEqual(await living([first.pid, pid]), [pid]);
    const after = await client.list({ scope: 'all' });
    assert.deepEqual(
      after.map((each) => ({ ...each, pid: 0, startedAt: 0, nextSeq: 0, outputBytes: 0 })),
      [{ ...before, pid: 0, startedAt: 0, nextSeq: 0, outputBytes: 0 }],
    );
    assert.doesNotMatch(JSON.stringify(after), /hush/);
    {
      await using driver = await client.attach('x', { sessionId, role: 'drive', follow: false });
      await driver.write('typed\n');
      await driver.closeStdin();
    }
    assert.equal(await logOf(client, 'x', sessionId), 'hush in /usr\ntyped\n');
  });

  test('also starts an ended one, even on a terminal, and fails if it can no longer be started', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const io = { kind: 'pty', rows: 11, cols: 44 } as const;
    const first = await start(client, { id: 'x', script: 'stty size', restartable: true, io });
    const { sessionId } = await first.release();
    assert.equal(await logOf(client, 'x', sessionId), '11 44\r\n');
    await client.restart('x', { sessionId });
    assert.equal(await logOf(client, 'x', sessionId), '11 44\r\n');

    const inFolder = mkdtempSync(join(tmpdir(), 'sluice-'));
    const there = await start(client, { id: 'there', script: `rmdir '${inFolder}'`, restartable: true, cwd: inFolder });
    await there.release();
    await logOf(client, 'there', sessionId);
    await assert.rejects(client.restart('there', { sessionId }), (error) => isExecError(error, 'spawnFailed'));
    assert.deepEqual((await listed(client)).at(-1), ['there', 'closed']);
  });

  test('is refused for one that is not restartable, not released, or unknown', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (await start(client, { id: 'plain', script: 'exec sleep 600' })).release();
    await assert.rejects(client.restart('plain', { sessionId }), (error) => isExecError(error, 'notRestartable'));
    await using own = await start(client, { id: 'own', script: 'exec sleep 600', restartable: true });
    await assert.rejects(client.restart('own'), (error) => isExecError(error, 'notRestartable'));
    await assert.rejects(client.restart('none', { sessionId }), (error) => isExecError(error, 'processNotFound'));
    assert.deepEqual(await listed(client), [
      ['own', 'running'],
      ['plain', 'running'],
    ]);
    assert.ok(own.pid > 0);
  });

  test('keeps the new process as long as the old one was meant to be kept', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (
      await start(client, { id: 'x', script: 'exec sleep 600', restartable: true })
    ).release({ keepMs: 0 });
    await client.restart('x', { sessionId });
    assert.deepEqual(await listed(client), [['x', 'running']]);
    await using driver = await client.attach('x', { sessionId, role: 'drive', follow: false });
    await driver.terminate();
    await eventually(async () => assert.deepEqual(await listed(client), []));
  });

  test('happens once when it is requested twice at the same time', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (await start(client, { id: 'x', script: 'exec sleep 600', restartable: true })).release();
    const restarts = [client.restart('x', { sessionId }), client.restart('x', { sessionId })];
    const [first, second] = await Promise.allSettled(restarts);
    assert.equal(first?.status, 'fulfilled');
    assert.ok(second?.status === 'rejected' && isExecError(second.reason, 'processExists'));
    assert.deepEqual(await listed(client), [['x', 'running']]);
  });

  test('starts nothing if the server stops in the meantime', async () => {
    const server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const script = 'trap "echo asked" TERM; echo $$; while :; do sleep 0.05; done';
    const started = await start(client, { id: 'x', script, restartable: true, forceAfterMs: 2_000 });
    await started.collectUntil({ deadlineMs: 20_000, text: '\n' });
    const { sessionId } = await started.release();
    const restarted = assert.rejects(client.restart('x', { sessionId }));
    await using viewer = await client.attach('x', { sessionId });
    await viewer.collectUntil({ deadlineMs: 20_000, text: 'asked' });
    await server[Symbol.asyncDispose]();
    await restarted;
    assert.deepEqual(await living([started.pid]), []);
  });
});
