// A child gets from its server only what was requested.

import assert from 'node:assert/strict';
import { closeSync, readFileSync, readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { scratchFolder } from '../server/auth-tokens.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const token = 'the-very-secret-token';
const PATH = process.env['PATH'] ?? '';

/** The server's own environment; half of it is secret. */
const serverEnv = {
  PATH,
  HOME: '/',
  PLAIN: 'not secret',
  SLUICE_TOKEN: token,
  GITHUB_TOKEN: token,
  api_key: token,
  Db_Secret_Url: token,
};

const serverVariables = Object.entries(serverEnv).map(([name, value]) => `${name}=${value}`);

const ios = [
  { kind: 'pipe', stdin: 'open' },
  { kind: 'pty', rows: 24, cols: 80 },
] as const;

async function withServer(work: (peer: RawPeer, server: SluiceServer) => Promise<void>): Promise<void> {
  using folder = scratchFolder();
  const flags = ['--token-file', folder.write('token', token), '--log-level', 'debug'];
  await using server = await SluiceServer.start('websocket', flags, { wrapper: ['env', '-i', ...serverVariables] });
  await using peer = await overWebSocket(server.url, { authorization: `Bearer ${token}` });
  await peer.greet();
  await work(peer, server);
}

function environOf(pid: unknown): string[] {
  return readFileSync(`/proc/${Number(pid)}/environ`, 'utf8')
    .split('\0')
    .filter(Boolean)
    .toSorted();
}

/** Retries, because a program that was just executed may have a library open that it is loading. */
async function hasThreeStreams(pid: number): Promise<void> {
  await eventually(() => assert.deepEqual(readdirSync(`/proc/${pid}/fd`), ['0', '1', '2']));
}

describe('a child', () => {
  guardAgainstLeaks();

  test('has the requested variables, as the kernel shows them, and none of the server’s secrets', async () => {
    await withServer(async (peer) => {
      const pidOf = async (params: object) => resultOf(await peer.request('process/start', params))['pid'];
      // During exec the kernel briefly shows an empty environment.
      const hasEnviron = (pid: unknown, expected: readonly string[]) =>
        eventually(() => assert.deepEqual(environOf(pid), expected));
      for (const [index, io] of ios.entries()) {
        const start = { argv: ['cat'], io };
        const exact = await pidOf({ ...start, processId: `exact ${index}`, env: { PATH, ONLY: 'this' } });
        await hasEnviron(exact, ['ONLY=this', `PATH=${PATH}`]);
        const all = await pidOf({ ...start, processId: `all ${index}`, envPolicy: { inherit: 'all' } });
        await hasEnviron(all, ['HOME=/', `PATH=${PATH}`, 'PLAIN=not secret']);
        const none = await pidOf({ ...start, processId: `none ${index}`, envPolicy: { inherit: 'none', set: { PATH } } });
        await hasEnviron(none, [`PATH=${PATH}`]);
      }
      const { stdout } = resultOf(await peer.request('command/exec', { command: ['cat', '/proc/self/environ'] }));
      assert.deepEqual(String(stdout).split('\0').filter(Boolean).toSorted(), ['HOME=/', `PATH=${PATH}`, 'PLAIN=not secret']);
    });
  });

  test('has only its three streams open, however many are started at once', async () => {
    await withServer(async (peer) => {
      const started = Array.from({ length: 24 }, async (_, index) => {
        const params = { processId: `p${index}`, argv: ['cat'], env: { PATH }, io: ios[index % 2] };
        return Number(resultOf(await peer.request('process/start', params))['pid']);
      });
      for (const pid of await Promise.all(started)) {
        await hasThreeStreams(pid);
      }
    });
  });

  // Node's own descriptors are closed on exec; those that native code in the same program has opened may not be.
  const libc = loadLibc();
  const cannotClose = libc?.addCloseFrom === undefined && 'this libc cannot close unknown descriptors on spawn';

  test('inherits no descriptor that the embedding program left inheritable', { skip: cannotClose }, async () => {
    const ends = new Int32Array(2);
    assert.equal(libc?.pipe2(ends, 0), 0);
    try {
      await using client = connectInProcess({ backend: 'linux' });
      for (const io of ios) {
        await using child = await client.start({ argv: ['cat'], env: { PATH }, io });
        await hasThreeStreams(child.pid);
      }
    } finally {
      for (const fd of ends) closeSync(fd);
    }
  });
});

describe('the log', () => {
  guardAgainstLeaks();

  test('contains nothing that a client sent, even at the debug level and after every kind of error', async () => {
    await withServer(async (peer, server) => {
      const hidden = 'hidden-in-a-request';
      const start = { processId: 'p', argv: ['cat', hidden], env: { PATH, NAME: hidden }, cwd: '/' };
      await peer.request('process/start', start);
      await peer.request('process/start', start);
      await peer.request('process/start', { ...start, processId: 'q', argv: [`/${hidden}/${hidden}`] });
      await peer.request('process/start', { ...start, processId: 'r', cwd: `/${hidden}` });
      await peer.request('process/start', { ...start, processId: 's', argv: ['cat', `${hidden}\0`] });
      await peer.request('process/write', { processId: 'p', chunk: Buffer.from(hidden).toString('base64') });
      await peer.request('process/signal', { processId: 'p', signal: hidden });
      await peer.request('process/attach', { processId: hidden, sessionId: hidden });
      await peer.request('command/exec', { command: ['echo', hidden], env: { NAME: hidden } });
      await peer.request(hidden, { [hidden]: hidden });
      peer.send(`{"method":"${hidden}","params":"${hidden}"}`);
      peer.send(hidden);
      for (const path of [`/${hidden}`, `/?token=${token}`, '/metrics']) {
        await fetch(server.url.replace('ws:', 'http:') + path, { headers: { authorization: `Bearer ${hidden}`, cookie: token } });
      }
      await assert.rejects(overWebSocket(server.url, { authorization: `Bearer ${hidden}` }), /401/);
      assert.equal(await server.stop(), 0);
      const log = server.log.join('\n');
      assert.match(log, /process started/);
      for (const secret of [hidden, Buffer.from(hidden).toString('base64'), token])
        assert.equal(log.includes(secret), false, log);
    });
  });
});
