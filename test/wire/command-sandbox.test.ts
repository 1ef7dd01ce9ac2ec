// Sandboxed one-shot commands on the wire: the policy is enforced, or refused with a remedy, but never ignored.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, connectInProcess, isExecError, prepareSandboxed } from '#src/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overStdio, overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { fullAccess, noSandbox, readOnly, workspaceOnly } from '../support/sandboxed.js';
import { SluiceServer } from '../support/sluice-server.js';

const shell = (script: string) => ['sh', '-c', script];

describe('a sandboxed command', { skip: noSandbox }, () => {
  let inside = '';
  let outside = '';
  before(() => {
    inside = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-in-')));
    outside = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-out-')));
    symlinkSync(outside, join(inside, 'link'));
  });
  after(() => {
    for (const folder of [inside, outside]) rmSync(folder, { recursive: true });
  });
  guardAgainstLeaks();

  // `workspaceOnly` leaves only the command's folder writable; the folders of this test may be below /tmp, which must be excluded.
  const attempts: readonly [string, string, object][] = [
    ['writes nothing when everything is read-only', 'echo x > inside/file', readOnly],
    ['writes nothing outside its roots', 'echo x > outside/file', workspaceOnly],
    ['does not escape through a symlink', 'echo x > inside/link/file', workspaceOnly],
    [
      'does not escape through the root of another process',
      'echo x > /proc/1/root/outside/file || echo x > /proc/self/root/outside/file',
      workspaceOnly,
    ],
    ['does not escape through ..', 'echo x > inside/../$(basename outside)/file', workspaceOnly],
  ];
  for (const [sentence, script, sandboxPolicy] of attempts) {
    test(`${sentence}, although the same command succeeds without a sandbox`, async () => {
      await using client = connectInProcess();
      const command = shell(script.replaceAll('inside', inside).replaceAll('outside', outside));
      const held = await client.exec(command, { cwd: inside, sandboxPolicy: sandboxPolicy as typeof readOnly });
      assert.notEqual(held.exitCode, 0);
      assert.equal(held.sandboxType, 'bubblewrap');
      assert.deepEqual(
        [inside, outside].map((folder) => existsSync(join(folder, 'file'))),
        [false, false],
      );
      const free = await client.exec(command, { cwd: inside, sandboxPolicy: fullAccess });
      assert.deepEqual([free.exitCode, free.sandboxType], [0, 'none']);
      for (const folder of [inside, outside]) rmSync(join(folder, 'file'), { force: true });
    });
  }

  test('can write to its folder, its roots, and /tmp unless that is excluded', async () => {
    await using client = connectInProcess();
    const write = async (path: string, more: object) =>
      (
        await client.exec(shell(`echo x > ${path} && rm ${path}`), {
          cwd: inside,
          env: { TMPDIR: null },
          sandboxPolicy: { type: 'workspaceWrite', ...more },
        })
      ).exitCode === 0;
    assert.equal(await write(`${inside}/file`, {}), true);
    assert.equal(await write(`${outside}/file`, { writableRoots: [outside] }), true);
    assert.equal(await write('/tmp/sandboxed-file', {}), true);
    assert.equal(await write('/tmp/sandboxed-file', { excludeSlashTmp: true }), false);
  });

  test('can write to the server’s TMPDIR, not to one set by the caller', async () => {
    const written = async (server: object, TMPDIR: string) => {
      await using client = connectInProcess({ surroundings: { cwd: '/', env: { PATH: process.env['PATH'], ...server } } });
      const options = { cwd: inside, env: { TMPDIR }, sandboxPolicy: { type: 'workspaceWrite', excludeSlashTmp: true } } as const;
      return (await client.exec(shell(`echo x > ${outside}/file && rm ${outside}/file`), options)).exitCode === 0;
    };
    assert.deepEqual(
      [await written({ TMPDIR: outside }, '/none'), await written({}, outside), await written({}, '/')],
      [true, false, false],
    );
  });

  test('has no network access unless its policy grants it', async () => {
    const server = createServer((socket) => socket.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await using client = connectInProcess();
      const script = `require('node:net').connect(${port}, '127.0.0.1').on('data', (text) => console.log(String(text))).on('error', () => process.exit(9))`;
      const call = (sandboxPolicy: object) =>
        client.exec([process.execPath, '-e', script], { sandboxPolicy: sandboxPolicy as typeof readOnly });
      assert.equal((await call(readOnly)).exitCode, 9);
      assert.equal((await call({ ...readOnly, networkAccess: true })).stdout, 'reached\n');
      assert.equal((await call(fullAccess)).stdout, 'reached\n');
    } finally {
      server.close();
    }
  });

  test('reads in order what was written before it ran', async () => {
    await using peer = await overStdio();
    await peer.greet();
    const params = { command: ['cat'], processId: 'p', streamStdin: true, sandboxPolicy: readOnly };
    peer.send(JSON.stringify({ id: 1, method: 'command/exec', params }));
    for (const [id, word] of ['a', 'b', 'c'].entries()) {
      const write = { processId: 'p', deltaBase64: Buffer.from(word).toString('base64') };
      peer.send(JSON.stringify({ id: `w${id}`, method: 'command/exec/write', params: write }));
    }
    await peer.request('command/exec/write', { processId: 'p', closeStdin: true });
    const { stdout, exitCode, sandboxType } = resultOf(await peer.reply(1));
    assert.deepEqual([stdout, exitCode, sandboxType], ['abc', 0, 'bubblewrap']);
  });

  test('is ended at its timeout like any other, and is refused if its program does not exist', async () => {
    await using client = connectInProcess();
    const { exitCode, timedOut } = await client.exec(shell('trap "" TERM; sleep 600'), {
      sandboxPolicy: readOnly,
      timeoutMs: 500,
    });
    assert.deepEqual([exitCode, timedOut], [124, true]);
    await assert.rejects(
      async () => client.exec(['no-such-program'], { sandboxPolicy: readOnly }),
      (error) => isExecError(error, 'spawnFailed') && error.message.startsWith('failed to spawn command: '),
    );
  });

  test('is refused network access by a server that needs no token', async () => {
    await using server = await SluiceServer.start('websocket');
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const params = { command: ['true'], sandboxPolicy: { ...readOnly, networkAccess: true } };
    const { code, message } = errorOf(await peer.request('command/exec', params));
    assert.equal(code, -32602);
    assert.match(message, /networkAccess is refused .* without a token/);
    assert.equal(resultOf(await peer.request('command/exec', { command: ['true'], sandboxPolicy: readOnly }))['exitCode'], 0);
  });

  test('cannot reach the server’s own socket', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const script = `require('node:net').connect(${JSON.stringify(server.url.slice('unix://'.length))}).on('connect', () => { console.log('in'); process.exit(); }).on('error', () => process.exit(9))`;
    const call = (sandboxPolicy: object) =>
      client.exec([process.execPath, '-e', script], { sandboxPolicy: sandboxPolicy as typeof readOnly });
    assert.equal((await call(fullAccess)).stdout, 'in\n');
    assert.equal((await call({ type: 'workspaceWrite' })).exitCode, 9);
    assert.equal((await call({ type: 'workspaceWrite', networkAccess: true })).exitCode, 9);
  });

  test('can be prepared by the caller without sending the policy', async () => {
    await using client = connectInProcess();
    const prepared = await prepareSandboxed(
      {
        argv: shell(`echo x > ${outside}/file || echo held`),
        cwd: inside,
        env: { PATH: process.env['PATH'] ?? '' },
        io: { kind: 'pipe', stdin: 'closed' },
      },
      workspaceOnly,
    );
    await using child = await client.start({ prepared });
    const lines: string[] = [];
    for await (const { text } of child.lines({ stream: 'stdout' })) lines.push(text);
    assert.deepEqual(lines, ['held']);
  });
});

describe('without bubblewrap', () => {
  guardAgainstLeaks();

  test('a sandboxed command is refused, with the package to install', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-path-'));
    try {
      writeFileSync(join(folder, 'nothing'), '');
      await using client = connectInProcess({ surroundings: { cwd: '/', env: { PATH: folder } } });
      await assert.rejects(
        async () => client.exec(['/bin/true'], { sandboxPolicy: readOnly }),
        (error) =>
          isExecError(error, 'sandboxUnavailable') && error.code === -32602 && error.message.includes('apt install bubblewrap'),
      );
      assert.equal((await client.exec(['/bin/true'], { sandboxPolicy: fullAccess })).exitCode, 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
