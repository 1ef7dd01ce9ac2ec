// Forwarded connections behave as direct ones, over every kind of connection to the server.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type Socket, connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Client, Forward } from '#src/client/index.js';
import { connect, connectInProcess, isExecError, launchServer } from '#src/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually, settled } from '../support/eventually.js';
import { FarEnd, echo, received } from '../support/far-end.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { program, SluiceServer } from '../support/sluice-server.js';

const allowed = { network: { forward: 'on' } } as const;

interface Connected extends AsyncDisposable {
  readonly client: Client;
}

const ways: readonly { readonly name: string; readonly open: () => Promise<Connected> }[] = [
  { name: 'in-process', open: async () => ownedBy(connectInProcess(allowed)) },
  {
    name: 'over stdio',
    open: async () => {
      const args = ['--', program, 'serve', '--listen', 'stdio', '--allow-forward', '--log-level', 'error'];
      return ownedBy(await launchServer({ command: process.execPath, args }));
    },
  },
  ...(['websocket', 'unix'] as const).map((kind) => ({
    name: `over a ${kind} connection`,
    open: async () => {
      const server = await SluiceServer.start(kind, ['--allow-forward']);
      return ownedBy(await connect(server.url), server);
    },
  })),
];

for (const { name, open } of ways) {
  describe(`a forwarded connection ${name}`, () => {
    guardAgainstLeaks();

    test('carries bytes both ways, and each side may end first', async () => {
      await using far = await FarEnd.listen((socket) => void answer(socket));
      await using connected = await open();
      await using forward = await connected.client.forward({ remote: { port: far.port } });
      const asking = await dial(forward);
      asking.end('a question');
      assert.equal(String(await received(asking)), 'answer to: a question');
      await using early = await FarEnd.listen((socket) => void socket.end('first word'));
      await using other = await connected.client.forward({ remote: { port: early.port } });
      const listening = await dial(other);
      assert.equal(String(await received(listening)), 'first word');
      listening.end('last word');
      const [near] = early.sockets;
      assert.equal(near === undefined ? '' : String(await received(near)), 'last word');
      await eventually(() => assert.deepEqual([forward.connections, other.connections], [0, 0]));
    });

    test('is one of 200 at once, each with its own bytes', async () => {
      await using far = await FarEnd.listen(echo);
      await using connected = await open();
      await using forward = await connected.client.forward({ remote: { port: far.port } });
      const replies = Array.from({ length: 200 }, async (_, index) => {
        const socket = await dial(forward);
        const content = Buffer.alloc(20_000, `${index} `);
        socket.end(content);
        return (await received(socket)).equals(content);
      });
      assert.deepEqual(new Set(await Promise.all(replies)), new Set([true]));
      await eventually(() => assert.equal(forward.connections, 0));
    });

    test('holds a writer back while the other side does not read', async () => {
      for (const reader of ['near', 'far'] as const) {
        await using far = await FarEnd.listen((socket) => void (reader === 'far' ? socket.pause() : flood(socket)));
        await using connected = await open();
        await using forward = await connected.client.forward({ remote: { port: far.port } });
        const near = await dial(forward);
        near.pause();
        await eventually(() => assert.equal(far.sockets.size, 1));
        const [other] = far.sockets;
        assert.ok(other);
        const writer = reader === 'far' ? near : other;
        if (reader === 'far') flood(near);
        const written = await settled(() => writer.bytesWritten);
        assert.ok(written > 0 && written < 64 * 1024 * 1024, `${written} bytes were written to a side that does not read`);
        near.destroy();
        other.resume().end(); // a side that does not read does not notice the end either
        await eventually(() => assert.equal(far.sockets.size, 0));
      }
    });

    test('breaks when the far side breaks or there is no far side, and the forward goes on', async () => {
      const problems: string[] = [];
      await using far = await FarEnd.listen((socket) => void socket.once('data', () => socket.resetAndDestroy()));
      await using connected = await open();
      const { client } = connected;
      await using forward = await client.forward({ remote: { port: far.port }, onProblem: (problem) => problems.push(problem) });
      const broken = await dial(forward);
      broken.write('x');
      await broke(broken);
      await far[Symbol.asyncDispose]();
      await broke(await dial(forward));
      await eventually(() =>
        assert.match(problems.join(), new RegExp(`^cannot connect to localhost:${far.port}: ECONNREFUSED$`)),
      );
      await assert.rejects(client.openPort({ port: far.port }), (error) => isExecError(error, 'networkFailed'));
      await eventually(() => assert.equal(forward.connections, 0));
    });

    test('ends with the forward, which frees its port', async () => {
      await using far = await FarEnd.listen(echo);
      await using connected = await open();
      const forward = await connected.client.forward({ remote: { port: far.port } });
      const socket = await dial(forward);
      await eventually(() => assert.equal(far.sockets.size, 1));
      await forward.close();
      assert.equal(await forward.closed, undefined);
      await broke(socket);
      await eventually(() => assert.equal(far.sockets.size, 0));
      await assert.rejects(dial(forward), { code: 'ECONNREFUSED' });
    });

    test('ends with the forward even if the far side has already ended', async () => {
      await using far = await FarEnd.listen((socket) => void socket.end('bye'));
      await using connected = await open();
      const forward = await connected.client.forward({ remote: { port: far.port } });
      const socket = await dial(forward);
      assert.equal(String(await received(socket)), 'bye');
      await forward.close();
      await eventually(() => assert.deepEqual([forward.connections, far.sockets.size], [0, 0]));
      socket.destroy();
    });

    test('reaches IPv6 and Unix sockets, and starts at one', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      try {
        await using six = await FarEnd.listen(echo, { host: '::1' });
        await using unix = await FarEnd.listen(echo, { path: join(folder, 'far') });
        await using connected = await open();
        const { client } = connected;
        const local = { path: join(folder, 'near') };
        await using first = await client.forward({ local, remote: { port: six.port } }); // found after 127.0.0.1 was tried
        await using second = await client.forward({ local: { host: '::1' }, remote: { path: join(folder, 'far') } });
        assert.deepEqual(first.address, local);
        for (const forward of [first, second]) {
          const socket = await dial(forward);
          socket.end('through');
          assert.equal(String(await received(socket)), 'through');
        }
        assert.equal(unix.port, 0);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    test('can be opened without a listener', async () => {
      await using far = await FarEnd.listen((socket) => void answer(socket));
      await using connected = await open();
      using tunnel = await connected.client.openPort({ port: far.port, host: '127.0.0.1' });
      await tunnel.write(Buffer.from('a question'));
      tunnel.end();
      const chunks: Uint8Array[] = [];
      for await (const chunk of tunnel.readable) chunks.push(chunk);
      assert.equal(Buffer.concat(chunks).toString(), 'answer to: a question');
    });
  });
}

describe('a forwarded connection', () => {
  guardAgainstLeaks();

  test('continues byte for byte when the connection to the server is cut', async (context) => {
    await using server = await SluiceServer.start('websocket', ['--allow-forward', '--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    const [up, down] = [patterned(6_000_000, 7), patterned(6_000_000, 11)];
    const arrived: Promise<Buffer>[] = [];
    await using far = await FarEnd.listen((socket) => {
      arrived.push(received(socket));
      void slowly(socket, down, proxy);
    });
    await using forward = await client.forward({ remote: { port: far.port } });
    const near = await dial(forward);
    const returned = received(near);
    proxy.cutRandomly(40);
    await slowly(near, up, proxy);
    assert.equal(digest(await returned), digest(down));
    assert.equal(digest((await arrived[0]) ?? Buffer.alloc(0)), digest(up));
    context.diagnostic(`${proxy.cutCount} cuts`);
    await eventually(() => assert.equal(forward.connections, 0));
  });

  test('is reset, and its forward closed, when the server is lost for good', async () => {
    await using far = await FarEnd.listen(echo);
    const server = await SluiceServer.start('websocket', ['--allow-forward']);
    await using client = await connect(server.url, { timeouts: { reconnectMs: 200 } });
    await using forward = await client.forward({ remote: { port: far.port } });
    const socket = await dial(forward);
    await eventually(() => assert.equal(far.sockets.size, 1));
    await server.stop('SIGKILL');
    assert.match((await forward.closed) ?? '', /./);
    await broke(socket);
    await assert.rejects(dial(forward), { code: 'ECONNREFUSED' });
    await server[Symbol.asyncDispose]();
  });

  test('is closed on the server when its client has gone for good', async () => {
    await using far = await FarEnd.listen(echo);
    await using server = await SluiceServer.start('websocket', ['--allow-forward', '--detach-grace-ms', '100']);
    const client = await connect(server.url);
    await client.openPort({ port: far.port });
    await eventually(() => assert.equal(far.sockets.size, 1));
    await client.close();
    await eventually(() => assert.equal(far.sockets.size, 0));
  });

  test('beyond the limit is closed, with the reason', async () => {
    const problems: string[] = [];
    await using far = await FarEnd.listen(echo);
    await using client = connectInProcess({ ...allowed, limits: { maxFlows: 1 } });
    await using forward = await client.forward({ remote: { port: far.port }, onProblem: (problem) => problems.push(problem) });
    const first = await dial(forward);
    first.write('x');
    await once(first, 'data');
    await broke(connectSocket({ ...forward.address, allowHalfOpen: true }).on('error', () => {}));
    assert.deepEqual(problems, ['this session already has 1 flows; wait for one to end before opening another']);
    first.destroy();
  });
});

describe('what a server connects callers to', () => {
  guardAgainstLeaks();

  test('is nothing unless the operator allows it', async () => {
    await using client = connectInProcess();
    await assert.rejects(client.openPort({ port: 1 }), {
      message: 'this server does not forward connections; start it with --allow-forward',
    });
  });

  test('is its own machine, and hosts that were opened by name', async () => {
    await using far = await FarEnd.listen(echo);
    await using client = connectInProcess({ network: { forward: 'on', hosts: ['192.0.2.1:1', `0.0.0.0:${far.port}`] } });
    for (const host of ['192.0.2.7', '192.0.2.1', '0.0.0.0', '::', '169.254.169.254', '::ffff:192.0.2.1', '[::1]%lo']) {
      const refusal = client.openPort({ port: 80, host });
      await assert.rejects(refusal, (error) => isExecError(error, 'networkRefused') || isExecError(error, 'networkFailed'), host);
    }
    for (const host of [undefined, 'localhost', 'LOCALHOST', '127.0.0.1', '127.3.2.1', '::ffff:127.0.0.1', '0.0.0.0']) {
      await using loopback = await FarEnd.listen(echo, { host: host === '127.3.2.1' ? host : '127.0.0.1' });
      const port = host === '0.0.0.0' ? far.port : loopback.port;
      using tunnel = await client.openPort({ port, ...(host === undefined ? {} : { host }) });
      await tunnel.write(Buffer.from('x'));
    }
  });

  test('is a Unix socket, but not its own, and with roots only one below them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      const [inside, outside] = [mkdtempSync(join(folder, 'in')), mkdtempSync(join(folder, 'out'))];
      await using _one = await FarEnd.listen(echo, { path: join(inside, 's') });
      await using _other = await FarEnd.listen(echo, { path: join(outside, 's') });
      const { symlinkSync, writeFileSync } = await import('node:fs');
      symlinkSync(join(outside, 's'), join(inside, 'link'));
      writeFileSync(join(inside, 'file'), '');
      await using confined = connectInProcess({ ...allowed, files: { roots: [inside] } });
      using tunnel = await confined.openPort({ path: join(inside, 's') });
      await tunnel.write(Buffer.from('x'));
      for (const path of [
        join(outside, 's'),
        join(inside, 'link'),
        `${inside}/../${outside.slice(folder.length + 1)}/s`,
        's',
        '\0s',
      ]) {
        await assert.rejects(confined.openPort({ path }), path);
      }
      await assert.rejects(confined.openPort({ path: join(inside, 'file') }), /is not a Unix socket/);
      await assert.rejects(confined.openPort({ path: join(inside, 'none') }), /ENOENT|no such/i);
      await using hiding = connectInProcess({ ...allowed, hiddenPaths: [join(outside, 's')] });
      for (const path of [join(outside, 's'), join(inside, 'link')]) {
        await assert.rejects(hiding.openPort({ path }), /is a socket of this server itself/);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('is either a port or a path', async () => {
    await using client = connectInProcess(allowed);
    await assert.rejects(client.openPort({ port: 1, path: '/x' }), /either a port or a path/);
    await assert.rejects(client.openPort({ port: 0 }), /port/);
  });
});

function ownedBy(client: Client, server?: AsyncDisposable): Connected {
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await server?.[Symbol.asyncDispose]();
    },
  };
}

async function dial({ address }: Pick<Forward, 'address'>): Promise<Socket> {
  const socket = connectSocket({ ...address, allowHalfOpen: true });
  await once(socket, 'connect');
  socket.on('error', () => {}); // a reset is what some tests are about
  return socket;
}

async function broke(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve).once('end', () => socket.destroy()));
}

async function answer(socket: Socket): Promise<void> {
  socket.end(`answer to: ${String(await received(socket))}`);
}

/** Writes as long as it is not held back. */
function flood(socket: Socket): void {
  const piece = Buffer.alloc(64 * 1024);
  const fill = () => {
    while (socket.writable && socket.write(piece));
  };
  socket.on('drain', fill);
  fill();
}

/** Writes in pieces, one for each cut, so that every cut falls while both directions carry data. */
async function slowly(socket: Socket, content: Buffer, proxy: CuttingProxy): Promise<void> {
  const size = Math.ceil(content.length / 40);
  for (let piece = 0; piece < 40; piece += 1) {
    socket.write(content.subarray(piece * size, (piece + 1) * size));
    await proxy.reached(piece);
  }
  socket.end();
}

function patterned(length: number, factor: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * factor + (at >> 8)) % 251));
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
