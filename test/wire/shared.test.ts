// Processes shared by several clients: released by one, attached to by others, across lost connections.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, type ProcessHandle, connect, isExecError } from '#src/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overUnixSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { outputText } from '../support/output-text.js';

const env = { PATH: process.env['PATH'] ?? '' };

function start(client: Client, script: string, more: object = {}): Promise<ProcessHandle> {
  return client.start({ argv: ['sh', '-c', script], env, io: { kind: 'pipe', stdin: 'open' }, ...more });
}

describe('a released process', () => {
  guardAgainstLeaks();

  test('outlives its session, and every client of the same caller can attach to it', async () => {
    await using server = await SluiceServer.start('unix');
    const first = await connect(server.url);
    const started = await start(first, 'echo begun; while read -r line; do echo "got $line"; done; exit 5', { id: 'kept' });
    const { sessionId } = await started.release();
    await first.close();
    assert.deepEqual(await living([started.pid]), [started.pid]);

    await using second = await connect(server.url);
    assert.deepEqual(await second.list(), []);
    const [listed] = await second.list({ scope: 'all' });
    assert.deepEqual([listed?.processId, listed?.sessionId, listed?.state], ['kept', sessionId, 'running']);
    await using driver = await second.attach('kept', { sessionId, role: 'drive' });
    assert.equal(driver.pid, started.pid);
    await driver.write('a line\n');
    await driver.closeStdin();
    assert.equal(await outputText(driver), 'begun\ngot a line\n');
    const ending = await driver.exit;
    assert.deepEqual([ending.kind, ending.kind === 'code' && ending.code], ['code', 5]);
  });

  test('ends with the server', async () => {
    const server = await SluiceServer.start('unix');
    const client = await connect(server.url);
    const started = await start(client, 'exec sleep 600');
    await started.release();
    await client.close();
    await server[Symbol.asyncDispose]();
    assert.deepEqual(await living([started.pid]), []);
  });

  test('keeps running when its handle is disposed of, and frees its id in the session it left', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    {
      await using handle = await start(client, 'exec sleep 600', { id: 'twice' });
      await handle.release();
    }
    await using again = await start(client, 'exec sleep 600', { id: 'twice' });
    await assert.rejects(again.release(), (error) => isExecError(error, 'processExists'));
    const all = await client.list({ scope: 'all' });
    assert.deepEqual(
      all.map(({ processId, state }) => [processId, state]),
      [
        ['twice', 'running'],
        ['twice', 'running'],
      ],
    );
  });

  test('stays readable after its end until the limit for released processes', async () => {
    await using server = await SluiceServer.start('unix', ['--keep-closed-ms', '50', '--keep-released-ms', '60000']);
    await using client = await connect(server.url);
    await using ordinary = await start(client, 'echo x', { id: 'ordinary' });
    const released = await start(client, 'read -r line; echo "read $line"', { id: 'released' });
    await released.write('it\n');
    const { sessionId } = await released.release();
    await ordinary.closed;
    await eventually(async () => {
      assert.deepEqual(
        (await client.list({ scope: 'all' })).map(({ processId, state }) => [processId, state]),
        [['released', 'closed']],
      );
    });
    await using handle = await client.attach('released', { sessionId, follow: false });
    const { chunks } = await handle.read();
    assert.equal(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString(), 'read it\n');
  });

  test('can still be driven by a client that attached to it before the release', async () => {
    await using server = await SluiceServer.start('unix');
    await using owner = await connect(server.url);
    const started = await start(owner, 'read -r line; echo "got $line"', { id: 'moved' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await using driver = await guest.attach('moved', { sessionId, role: 'drive' });
    await started.release();
    await driver.write('it\n');
    assert.equal(await outputText(driver), 'got it\n');
  });

  test('belongs to a session that cannot be resumed', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const { sessionId } = await (await start(client, 'exec sleep 600')).release();
    await using peer = await overUnixSocket(server.url);
    const refused = await peer.request('initialize', { clientName: 'x', resumeSessionId: sessionId, takeover: true });
    assert.equal(errorOf(refused).code, -32600);
  });
});

/** Bytes received plus bytes reported as dropped. */
async function accountedBytes(handle: ProcessHandle): Promise<number> {
  let accounted = 0;
  for await (const { bytes, droppedBytes } of handle.output) accounted += bytes.length + droppedBytes;
  return accounted;
}

/** Retains the beginning of the output and part of its end. */
const littleRoom = ['--retained-bytes', '262144', '--head-bytes', '1024'];

describe('a process of another client', () => {
  guardAgainstLeaks();

  test('is not held back by a slow reader, which learns how much it missed', async () => {
    await using server = await SluiceServer.start('unix', ['--retained-bytes', '65536', '--head-bytes', '1024']);
    await using owner = await connect(server.url);
    await using child = await start(owner, 'read -r line; head -c 20000000 /dev/zero', { id: 'flood' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await using viewer = await guest.attach('flood', { sessionId });
    await child.write('go\n');
    assert.equal((await outputText(child)).length, 20_000_000);
    assert.equal(await accountedBytes(viewer), 20_000_000);
  });

  test('reports the exact number of missing bytes to a viewer that was away, including what it had read before', async () => {
    await using server = await SluiceServer.start('websocket', [...littleRoom, '--allow-host', '127.0.0.1']);
    await using owner = await connect(server.url);
    await using child = await start(owner, 'head -c 200000 /dev/zero; read -r line; head -c 300000 /dev/zero; exec cat', {
      id: 'flood',
    });
    const written = accountedBytes(child);
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using proxy = await CuttingProxy.open(server.url);
    await using guest = await connect(proxy.url);
    await using viewer = await guest.attach('flood', { sessionId });
    let accounted = 0;
    for await (const { bytes, droppedBytes } of viewer.output) {
      accounted += bytes.length + droppedBytes;
      if (accounted === 200_000) break;
    }
    const unblock = proxy.block();
    await child.write('go\n');
    await eventually(async () => assert.equal((await owner.list())[0]?.outputBytes, 500_000));
    unblock();
    await child.write('last');
    await child.closeStdin();
    assert.deepEqual([accounted + (await accountedBytes(viewer)), await written], [500_004, 500_004]);
  });

  test('marks output from before the attach as replayed, and later output not', async () => {
    await using server = await SluiceServer.start('unix');
    await using owner = await connect(server.url);
    await using child = await start(owner, 'echo before; read -r line; echo after', { id: 'x' });
    await child.collectUntil({ deadlineMs: 20_000, text: 'before\n' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await using viewer = await guest.attach('x', { sessionId });
    await child.write('\n');
    const seen: unknown[] = [];
    for await (const { bytes, isReplayed = false } of viewer.output) seen.push([Buffer.from(bytes).toString(), isReplayed]);
    assert.deepEqual(seen, [
      ['before\n', true],
      ['after\n', false],
    ]);
  });

  test('is read page by page without counting missing bytes twice', async () => {
    await using server = await SluiceServer.start('unix', littleRoom);
    await using owner = await connect(server.url);
    await using child = await start(owner, 'head -c 200000 /dev/zero; read -r line; head -c 300000 /dev/zero', { id: 'flood' });
    const written = accountedBytes(child);
    await eventually(async () => assert.equal((await owner.list())[0]?.outputBytes, 200_000));
    let accounted = 0;
    let cursor = {};
    const readUpTo = async (bytes: number) => {
      while (accounted < bytes) {
        const page = await child.read(cursor);
        accounted += page.droppedBytes + page.chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
        cursor = { afterSeq: page.nextSeq - 1, afterBytes: page.nextBytes };
      }
    };
    await readUpTo(200_000);
    await child.write('go\n');
    await written;
    await readUpTo(500_000);
    assert.equal(accounted, 500_000);
  });

  test('reports the missing bytes even if the very end is missing', async () => {
    // The retained beginning takes up all the room.
    await using server = await SluiceServer.start('unix', ['--retained-bytes', '65536', '--head-bytes', '1024']);
    await using owner = await connect(server.url);
    await using child = await start(owner, 'dd if=/dev/zero bs=65536 count=30 status=none', { id: 'flood' });
    await outputText(child);
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await using viewer = await guest.attach('flood', { sessionId });
    assert.equal(await accountedBytes(viewer), 30 * 65_536);
  });

  test('cannot be attached to after a seq that does not exist yet', async () => {
    await using server = await SluiceServer.start('unix');
    await using owner = await connect(server.url);
    await using child = await start(owner, 'echo one; exec cat', { id: 'young' });
    await child.collectUntil({ deadlineMs: 20_000, text: 'one' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await assert.rejects(guest.attach('young', { sessionId, afterSeq: 2 }), /afterSeq must be at most 1, .* got 2$/);
    await using viewer = await guest.attach('young', { sessionId, afterSeq: 1 });
    await child.write('two\n');
    await child.closeStdin();
    assert.equal(await outputText(viewer), 'two\n');
  });

  test('cannot be written to by a watcher, nor after detaching from it', async () => {
    await using server = await SluiceServer.start('unix');
    await using owner = await connect(server.url);
    await using child = await start(owner, 'read -r line', { id: 'watched' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    const watcher = await guest.attach('watched', { sessionId, role: 'watch', follow: false });
    await assert.rejects(watcher.write('x\n'), (error) => isExecError(error, 'watchOnly'));
    await watcher[Symbol.asyncDispose]();
    await assert.rejects(watcher.closeStdin(), (error) => isExecError(error, 'processNotFound'));
    await assert.rejects(guest.attach('no-such', { sessionId }), (error) => isExecError(error, 'processNotFound'));
    assert.deepEqual(await living([child.pid]), [child.pid]);
  });

  test('is no longer found by an attached client once its owner has disconnected', async () => {
    await using server = await SluiceServer.start('unix');
    const owner = await connect(server.url);
    await start(owner, 'exec sleep 600', { id: 'joined' });
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using guest = await connect(server.url);
    await using driver = await guest.attach('joined', { sessionId, role: 'drive', follow: false });
    await owner.close();
    await eventually(async () => assert.deepEqual(await guest.list({ scope: 'all' }), []));
    const isNotFound = (error: unknown) => isExecError(error, 'processNotFound');
    await assert.rejects(driver.read(), isNotFound);
    await assert.rejects(driver.write('x'), isNotFound);
  });

  test('is still followed and driven across cut connections, with nothing duplicated or missing', async () => {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using owner = await connect(server.url);
    await using child = await start(owner, 'while read -r line; do echo "got $line"; done', { id: 'far' });
    void outputText(child);
    const [{ sessionId = '' } = {}] = await owner.list({ scope: 'all' });
    await using proxy = await CuttingProxy.open(server.url);
    await using guest = await connect(proxy.url);
    await using driver = await guest.attach('far', { sessionId, role: 'drive' });
    proxy.cutRandomly(20);
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`);
    for (const line of lines) await driver.write(`${line}\n`);
    await proxy.reached(20);
    await driver.closeStdin();
    assert.equal(await outputText(driver), lines.map((line) => `got ${line}\n`).join(''));
  });
});

test('a start can set its own grace period, and the list shows the current size of a terminal', async () => {
  await using server = await SluiceServer.start('unix');
  await using client = await connect(server.url);
  const io = { kind: 'pty', rows: 10, cols: 20 } as const;
  await using child = await start(client, 'trap "" TERM HUP; echo up; while :; do sleep 0.05; done', {
    io,
    timeoutMs: 300,
    forceAfterMs: 0,
  });
  await child.resize({ rows: 30, cols: 40 });
  const [status] = await client.list();
  assert.deepEqual(status?.io, { kind: 'pty', rows: 30, cols: 40 });
  const ending = await child.exit;
  assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGKILL', 'timedOut']);
});

test('environment/info includes the server’s pid', async () => {
  await using server = await SluiceServer.start('unix');
  await using peer = await overUnixSocket(server.url);
  await peer.greet();
  assert.equal(resultOf(await peer.request('environment/info', {}))['serverPid'], server.child.pid);
});
