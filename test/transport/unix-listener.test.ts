// The Unix listener: no other user can connect; it replaces the socket of a dead server, but never a live one or another kind of file.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { Channel } from '#src/rpc/channel.js';
import { type UnixListener, listenUnix } from '#src/transport/unix-listener.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';

guardAgainstLeaks();

describe('the socket', () => {
  test('is accessible only to its owner, whatever the umask', async () => {
    await using place = new Place();
    for (const umask of [0o000, 0o777]) {
      const before = process.umask(umask);
      try {
        await using listener = await place.listen();
        assert.deepEqual(modesIn(place.folder), { socket: 0o600 });
        assert.equal(listener.url, `unix://${place.socket}`);
        await place.connects();
      } finally {
        process.umask(before);
      }
    }
  });

  test('is removed by the close, and nothing else is left', async () => {
    await using place = new Place();
    const listener = await place.listen();
    await listener.close({ graceMs: 0 });
    await listener.close({ graceMs: 0 });
    assert.deepEqual(readdirSync(place.folder), []);
  });

  test('of another server at the same path is not removed', async () => {
    await using place = new Place();
    const first = await place.listen();
    unlinkSync(place.socket);
    await using _second = await place.listen();
    await first.close({ graceMs: 0 });
    await place.connects();
  });
});

describe('an existing file', () => {
  test('is replaced if it is the socket of a dead server', async () => {
    await using place = new Place();
    place.leaveDeadSocket();
    assert.ok(lstatSync(place.socket).isSocket());
    await using _listener = await place.listen();
    await place.connects();
    assert.deepEqual(modesIn(place.folder), { socket: 0o600 });
  });

  test('is left alone if a server is listening on it', async () => {
    await using place = new Place();
    await using _listener = await place.listen();
    await assert.rejects(place.listen(), {
      name: 'EndpointError',
      message: `cannot listen on unix://${place.socket}: a server is listening there already`,
    });
    await place.connects();
    assert.deepEqual(Object.keys(modesIn(place.folder)), ['socket']);
  });

  test('is left alone if it is not a socket', async () => {
    await using place = new Place();
    const refused = {
      name: 'EndpointError',
      message: `cannot listen on unix://${place.socket}: a file that is not a socket is in the way; it was left alone`,
    };
    writeFileSync(place.socket, 'precious');
    await assert.rejects(place.listen(), refused);
    assert.equal(readFileSync(place.socket, 'utf8'), 'precious');
    rmSync(place.socket);
    mkdirSync(place.socket);
    await assert.rejects(place.listen(), refused);
    rmSync(place.socket, { recursive: true });
    symlinkSync('/nowhere', place.socket);
    await assert.rejects(place.listen(), refused);
    assert.deepEqual(Object.keys(modesIn(place.folder)), ['socket']);
  });
});

describe('a path that cannot be listened on', () => {
  test('is reported: the folder does not exist', async () => {
    await using place = new Place();
    const endpoint = { kind: 'unix', path: path.join(place.folder, 'missing', 's') } as const;
    await assert.rejects(place.listen({ endpoint }), {
      name: 'EndpointError',
      message: `cannot listen on unix://${endpoint.path}: nothing can be created in ${path.dirname(endpoint.path)}`,
    });
  });

  test('is reported: the path is so long that Node would listen elsewhere', async () => {
    await using place = new Place();
    const folder = path.join(place.folder, 'x'.repeat(90));
    mkdirSync(folder);
    await assert.rejects(
      place.listen({ endpoint: { kind: 'unix', path: path.join(folder, 's') } }),
      /its folder has more than 97 bytes/,
    );
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe('connections', () => {
  test('become channels with distinct peers', async () => {
    await using place = new Place();
    await using _listener = await place.listen();
    await using one = await place.connects();
    await using _other = await place.connects();
    await eventually(() => assert.equal(place.channels.length, 2));
    assert.equal(new Set(place.channels.map(({ peer }) => peer)).size, 2);
    const [recorder] = place.channels.map(record);
    one.socket.write('{}\n');
    await eventually(() => assert.deepEqual(recorder?.arrivals, ['{}']));
  });

  test('whose peer has ended its side still get the answer to its last message', async () => {
    await using place = new Place();
    await using _listener = await place.listen({
      onChannel: (channel) => channel.listen({ message: (text) => channel.send(`[${text}]`), binary() {}, unreadable() {} }),
    });
    const { socket } = await place.connects();
    socket.end('"last"');
    let answer = '';
    for await (const bytes of socket) answer += String(bytes);
    assert.equal(answer, '["last"]\n');
  });

  test('beyond the limit are closed when they are admitted', async () => {
    await using place = new Place();
    await using _listener = await place.listen({ maxConnections: 1 });
    await using first = await place.connects();
    await eventually(() => assert.equal(place.channels.length, 1));
    const second = await place.connects();
    await eventually(() => assert.equal(place.channels.length, 2));
    for (const admit of place.admits) admit();
    await once(second.socket.resume(), 'close');
    assert.equal(first.socket.closed, false);
  });

  test('of unauthenticated peers beyond their limit are cut off, the oldest first', async () => {
    await using place = new Place();
    await using _listener = await place.listen({ maxConnections: 1, maxUnauthenticated: 1 });
    await using admitted = await place.connects();
    await eventually(() => place.admits[0]?.() ?? assert.equal(place.channels.length, 1));
    const oldest = await place.connects();
    await using youngest = await place.connects();
    await once(oldest.socket.resume(), 'close');
    assert.deepEqual([admitted.socket.closed, youngest.socket.closed], [false, false]);
  });

  test('that are still open when the listener closes are cut off', async () => {
    await using place = new Place();
    const listener = await place.listen();
    const client = await place.connects();
    await eventually(() => assert.equal(place.channels.length, 1));
    const closed = once(client.socket.resume(), 'close');
    await listener.close({ graceMs: 0 });
    assert.deepEqual(await place.channels[0]?.closed, { problem: 'the server has stopped' });
    await closed;
  });
});

test('a listener that loses a race for the path leaves the winner alone', async () => {
  await using place = new Place();
  place.leaveDeadSocket();
  const outcomes = await Promise.allSettled([place.listen(), place.listen(), place.listen()]);
  const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  assert.equal(winners.length, 1);
  await place.connects();
  for (const winner of winners) await winner.close({ graceMs: 0 });
  assert.deepEqual(readdirSync(place.folder), []);
});

/** A temporary folder for a socket. */
class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'sl-'));
  readonly socket = path.join(this.folder, 'socket');
  readonly channels: Channel[] = [];
  readonly admits: (() => void)[] = [];
  readonly #clients: AsyncDisposable[] = [];

  listen(options: Partial<Parameters<typeof listenUnix>[0]> = {}): Promise<UnixListener> {
    return listenUnix({
      endpoint: { kind: 'unix', path: this.socket },
      maxMessageBytes: 1024,
      maxConnections: 10,
      maxUnauthenticated: 10,
      onChannel: (channel, admit) => {
        this.channels.push(channel);
        this.admits.push(admit);
      },
      ...options,
    });
  }

  async connects() {
    const socket = connect(this.socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    const client = {
      socket,
      async [Symbol.asyncDispose]() {
        socket.destroy();
      },
    };
    this.#clients.push(client);
    return client;
  }

  /** Leaves the socket of a server that was killed. */
  leaveDeadSocket(): void {
    const script = `require('node:net').createServer().listen(${JSON.stringify(this.socket)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client[Symbol.asyncDispose]();
    await Promise.all(this.channels.map((channel) => (channel.close(), channel.closed)));
    rmSync(this.folder, { recursive: true });
  }
}

function modesIn(folder: string): Record<string, number> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, lstatSync(path.join(folder, name)).mode & 0o777]));
}
