// What a sandboxed command can connect to: networks and sockets in the file system, above all those of the server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { runtimePath } from '#src/cli/serve/runtime-folder.js';
import { connectInProcess } from '#src/index.js';
import { runtimeFolders } from '#src/process/sandbox/views.js';
import { type SandboxPolicy, isExecError } from '#src/protocol/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import {
  type Command,
  fullAccess,
  noSandbox,
  outcome,
  prepared,
  readOnly,
  scratchFolders,
  shell,
  workspaceOnly,
} from '../support/sandboxed.js';
import { outputText } from '../support/output-text.js';

guardAgainstLeaks();

const folders = scratchFolders();

describe('the network', { skip: noSandbox }, () => {
  const connector = `const { connect } = require('node:net');
    const at = process.argv[1];
    const socket = connect(at.startsWith('/') ? { path: at } : { port: Number(at), host: '127.0.0.1' });
    socket.on('connect', () => { console.log('connected'); process.exit(0); });
    socket.on('error', ({ code }) => { console.log(code); process.exit(1); });`;
  const online = { ...workspaceOnly, networkAccess: true };
  const server = createServer((socket) => socket.destroy());
  const connecting = async (at: string, policy: SandboxPolicy, hidden: readonly string[] = []) =>
    outcome({ argv: [process.execPath, '-e', connector, at], cwd: folders.workspace, hidden }, policy);

  async function listening(at: { path: string } | { port: number; host: string }, tries: () => Promise<void>): Promise<void> {
    server.listen(at);
    await once(server, 'listening');
    try {
      await tries();
    } finally {
      server.close();
      await once(server, 'close');
    }
  }

  test('is unreachable unless the policy grants access', async () => {
    await listening({ port: 0, host: '127.0.0.1' }, async () => {
      const port = String((server.address() as AddressInfo).port);
      const policies = [readOnly, workspaceOnly, { ...readOnly, networkAccess: true }, online, fullAccess];
      const outcomes = [];
      for (const policy of policies) outcomes.push(await connecting(port, policy));
      assert.deepEqual(outcomes, [
        ...['exit 1: ECONNREFUSED', 'exit 1: ECONNREFUSED'],
        ...['exit 0: connected', 'exit 0: connected', 'exit 0: connected'],
      ]);
    });
  });

  test('does not make a hidden socket reachable, whether in a root, through a link, or in a hidden folder', async () => {
    const path = join(folders.workspace, 'server.sock');
    const link = join(folders.root, 'link.sock');
    symlinkSync(path, link);
    await listening({ path }, async () => {
      assert.equal(await connecting(path, online), 'exit 0: connected');
      assert.equal(await connecting(link, online), 'exit 0: connected');
      for (const hidden of [path, link]) {
        assert.equal(await connecting(path, online, [hidden]), 'exit 1: ECONNREFUSED');
        assert.equal(await connecting(link, online, [hidden]), 'exit 1: ECONNREFUSED');
      }
      const elsewhere = { argv: [process.execPath, '-e', connector, path], cwd: folders.outside, hidden: [folders.workspace] };
      assert.equal(await outcome(elsewhere, online), 'exit 1: ENOENT');
    });
  });

  test('is refused while a hidden path does not exist, because it could not be hidden once it is created', async () => {
    const path = join(folders.outside, 'later.sock');
    const command = { ...shell('echo ran'), cwd: folders.workspace, hidden: [path] };
    await assert.rejects(
      outcome(command, online),
      (error) => isExecError(error, 'sandboxUnavailable') && error.message.includes(`"${path}" does not exist`),
    );
    assert.equal(await outcome(command, workspaceOnly), 'exit 0: ran');
    await listening({ path }, async () => assert.equal(await outcome(command, online), 'exit 0: ran'));
  });

  test('does not let a command move a hidden socket to where it is not hidden', async () => {
    const [folder, path] = [join(folders.workspace, 'a/b'), join(folders.workspace, 'a/b/server.sock')];
    mkdirSync(folder, { recursive: true });
    await listening({ path }, async () => {
      const script =
        'mv a c; mv a/b d; mv a/b/server.sock e; ln a/b/server.sock f; rm -rf a; for file in $(find .); do test -S $file && echo $file; done; true';
      const command = { ...shell(`exec 2>/dev/null; ${script}`), cwd: folders.workspace, hidden: [path] };
      assert.equal(await outcome(command, online), 'exit 0: ');
      assert.equal(existsSync(path), true);
      assert.equal(await connecting(path, online, [path]), 'exit 1: ECONNREFUSED');
    });
  });

  /** Lets a command connect to a socket that is created only after the command has started. */
  async function connectingLater(path: string, command: Pick<Command, 'serverEnv'>, policy: SandboxPolicy): Promise<string> {
    const waiting = `console.log('waiting'); process.stdin.once('data', () => { ${connector} });`;
    const argv = [process.execPath, '-e', waiting, path];
    await using client = connectInProcess();
    await using child = await client.start({
      prepared: await prepared({ argv, cwd: folders.workspace, io: { kind: 'pipe', stdin: 'open' }, ...command }, policy),
    });
    await child.collectUntil({ deadlineMs: 20_000, text: 'waiting' });
    let answer = '';
    mkdirSync(dirname(path), { recursive: true });
    await listening({ path }, async () => {
      await child.write('now');
      answer = (await outputText(child)).trim();
    });
    return answer;
  }

  test('is the only way to a socket that appears while the command runs', async () => {
    const path = join(folders.outside, 'later', 'server.sock');
    assert.equal(await connectingLater(path, {}, fullAccess), 'connected');
    for (const policy of [readOnly, workspaceOnly, { type: 'workspaceWrite' } as const]) {
      assert.equal(await connectingLater(path, {}, policy), 'EPERM');
    }
  });

  test('does not reach the background server, wherever the command line puts it', () => {
    const [session, temporary] = [join(folders.root, 'session'), join(folders.root, 'temporary')];
    mkdirSync(session);
    for (const env of [{}, { XDG_RUNTIME_DIR: session }, { XDG_RUNTIME_DIR: join(folders.root, 'none') }]) {
      assert.equal(runtimeFolders({ TMPDIR: process.env['TMPDIR'], ...env }).includes(runtimePath(env)), true);
    }
    assert.equal(runtimeFolders({ TMPDIR: temporary }).includes(join(temporary, `sluice-${process.getuid?.() ?? 0}`)), true);
  });

  test('does not make a Sluice reachable that the same user starts while the command runs', async () => {
    const serverEnv = { XDG_RUNTIME_DIR: join(folders.root, 'session'), TMPDIR: join(folders.root, 'temporary') };
    for (const folder of Object.values(serverEnv)) mkdirSync(folder);
    const sockets = [
      join(serverEnv.XDG_RUNTIME_DIR, 'sluice', 'socket'),
      join(serverEnv.TMPDIR, `sluice-${process.getuid?.() ?? 0}`, 'socket'),
    ];
    for (const path of sockets) {
      assert.equal(await connectingLater(path, { serverEnv }, online), 'ENOENT');
      rmSync(dirname(path), { recursive: true });
      assert.equal(await connectingLater(path, { serverEnv }, { ...online, writableRoots: [folders.root] }), 'ENOENT');
    }
    assert.equal(await connectingLater(join(folders.outside, 'other.sock'), { serverEnv }, online), 'connected');
  });

  test('does not make system sockets reachable', { skip: onlyRootMayWrite('/run') }, async () => {
    const path = `/run/sluice-${process.pid}.sock`;
    await listening({ path }, async () => {
      assert.equal(await connecting(path, fullAccess), 'exit 0: connected');
      assert.equal(await connecting(path, online), 'exit 1: ENOENT');
      assert.equal(await connecting(path.replace('/run', '/var/run'), online), 'exit 1: ENOENT');
    });
  });
});

function onlyRootMayWrite(folder: string): string | false {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch {
    return `listening in ${folder} needs root`;
  }
}
