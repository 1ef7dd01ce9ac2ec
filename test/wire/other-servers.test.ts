// The client against servers that are not Sluice: one of v0, and one like Codex's releases. `npm run e2e:codex-server` tests the real one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Client, connect, isExecError } from '#src/index.js';
import { env } from '../contract/connector.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Dialect, type Order, OtherExecServer } from '../support/other-exec-server.js';

interface Opened extends AsyncDisposable {
  readonly client: Client;
  readonly server: OtherExecServer;
  /** Cuts the connection. */
  readonly cut: () => void;
  /** Bytes that the client has read from the socket. */
  readonly received: () => number;
  readonly folder: string;
}

/** A client on an already connected socket, and the server at its other end. */
async function open(dialect: Dialect, order?: Order): Promise<Opened> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accepted = once(listener, 'connection') as Promise<[ReturnType<typeof connectSocket>]>;
  const socket = connectSocket((listener.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = await accepted;
  listener.close();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  const server = new OtherExecServer(peer, dialect, order);
  const client = await connect({ readable: socket, writable: socket });
  return {
    client,
    server,
    cut: () => peer.destroy(),
    received: () => socket.bytesRead,
    folder,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      peer.destroy();
      rmSync(folder, { recursive: true });
    },
  };
}

describe('a server that is not Sluice', () => {
  guardAgainstLeaks();

  for (const dialect of ['v0', 'released'] as const) {
    const place = { env, envPolicy: { inherit: 'none' }, cwd: '/' } as const;

    test(`has no files to offer, and the client says so (${dialect})`, async () => {
      await using opened = await open(dialect);
      const { files } = opened.client;
      const calls = [
        () => files.readText('/etc/hostname'),
        () => files.write('/x', 'y'),
        () => files.list('/'),
        () => files.watch('/').next(),
        () => files.download('/', '/nowhere'),
      ];
      for (const call of calls) await assert.rejects(call(), /not Sluice, does not support client\.files/);
    });

    test(`runs commands, and reports what they wrote and how they ended (${dialect})`, async () => {
      await using opened = await open(dialect);
      const { ending, stdout, stderr } = await opened.client.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], place);
      assert.deepEqual([stdout.text, stderr.text], ['out\n', 'err\n']);
      assert.ok(ending.kind === 'code' && ending.code === 3 && ending.reason === 'exited', JSON.stringify(ending));
      // A v0 server never announces the end of the output, so the client cannot know that it is complete.
      assert.equal(ending.outputComplete, dialect === 'released');
    });

    test(`gets no notification it would disconnect on, and all of its large output is read (${dialect})`, async () => {
      await using opened = await open(dialect);
      const { stdout } = await opened.client.run(['head', '-c', '3000000', '/dev/zero'], place);
      assert.equal(stdout.bytes.length, 3_000_000);
      assert.deepEqual(
        [...new Set(opened.server.asked.map(({ method }) => method))],
        ['initialize', 'initialized', 'process/start'],
      );
    });

    test(`ends a process at its timeout, and one that is disposed of (${dialect})`, async () => {
      await using opened = await open(dialect);
      const { ending } = await opened.client.run(['sleep', '600'], { ...place, timeoutMs: 50 });
      assert.deepEqual([ending.kind, ending.reason], ['code', 'timedOut']);
      const child = await opened.client.start({ ...place, argv: ['sleep', '600'] });
      await child[Symbol.asyncDispose]();
      assert.equal((await child.exit).reason, 'terminated');
    });

    test(`loses its processes with the connection, and ends them when the client is closed (${dialect})`, async () => {
      await using opened = await open(dialect);
      const lost = await opened.client.start({ ...place, argv: ['sleep', '600'] });
      opened.cut();
      assert.deepEqual([(await lost.exit).kind, (await lost.closed).reason], ['lost', 'serverLost']);
      await using again = await open(dialect);
      const closed = await again.client.start({ ...place, argv: ['sleep', '600'] });
      await again.client.close();
      assert.equal(again.server.asked.at(-1)?.method, 'process/terminate');
      assert.equal((await closed.exit).reason, 'disconnected');
    });

    test(`gets no request for anything it would ignore (${dialect})`, async () => {
      await using opened = await open(dialect);
      for (const [wrong, problem] of [
        [{ forceAfterMs: 1 }, /forceAfterMs/],
        [{ io: { kind: 'pty', rows: 50, cols: 100 } }, /50 rows and 100 columns/],
        ...(dialect === 'v0'
          ? ([[{ envPolicy: { inherit: 'core' } }, /envPolicy that inherits or filters.* set envPolicy to/]] as const)
          : []),
        ...(dialect === 'v0' ? ([[{ io: { kind: 'pipe', stdin: 'open' } }, /open stdin/]] as const) : []),
      ] as const) {
        await assert.rejects(opened.client.start({ ...place, argv: ['true'], ...wrong }), (error) => {
          assert.ok(isExecError(error, 'invalidParams'), String(error));
          assert.match(error.message, problem);
          return true;
        });
      }
      await assert.rejects(opened.client.list(), /unknown method: process\/list/);
    });

    test(`holds back a process whose output is not read, and no other (${dialect})`, async () => {
      await using opened = await open(dialect);
      const report = join(opened.folder, 'written');
      const flood = `head -c 20000000 /dev/zero; echo all >${report}`;
      await using child = await opened.client.start({ ...place, argv: ['sh', '-c', flood] });
      await eventually(() => assert.ok(opened.received() > 1_000_000));
      await settled(() => opened.received());
      assert.equal(existsSync(report), false);
      assert.equal((await opened.client.run(['echo', 'through'], place)).stdout.text, 'through\n');
      let bytes = 0;
      for await (const chunk of child.output) bytes += chunk.bytes.length;
      assert.equal(bytes, 20_000_000);
    });
  }

  test('gets the working directory in the form that v0 or the releases expect', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice a%41-'));
    for (const dialect of ['v0', 'released'] as const) {
      await using opened = await open(dialect);
      const { stdout } = await opened.client.run(['pwd'], { env, envPolicy: { inherit: 'none' }, cwd: folder });
      assert.equal(stdout.text, `${folder}\n`);
    }
    rmSync(folder, { recursive: true });
  });

  test('that numbers its notifications may send them out of order', async () => {
    await using opened = await open('released', 'swapped');
    const script = 'for i in 1 2 3 4 5 6 7; do echo $i; sleep 0.01; done; exit 5';
    const { stdout, ending } = await opened.client.run(['sh', '-c', script], { env, cwd: '/' });
    assert.equal(stdout.text, '1\n2\n3\n4\n5\n6\n7\n');
    assert.deepEqual([ending.kind === 'code' && ending.code, ending.outputComplete], [5, true]);
  });

  test('that cannot close stdin gets every byte, and closing stdin fails at once', async () => {
    await using opened = await open('released');
    await using child = await opened.client.start({ argv: ['cat'], env, cwd: '/', io: { kind: 'pipe', stdin: 'open' } });
    assert.equal(await child.write('hello\n'), 'accepted');
    assert.equal((await child.collectUntil({ text: 'hello', deadlineMs: 20_000 })).reason, 'text');
    await assert.rejects(child.closeStdin(), /does not support closing the stdin of a pipe/);
    await assert.rejects(opened.client.run(['cat'], { env, cwd: '/', input: 'x' }), /closing the stdin of a pipe/);
    await eventually(() => assert.equal(opened.server.asked.at(-1)?.method, 'process/terminate'));
  });
});
