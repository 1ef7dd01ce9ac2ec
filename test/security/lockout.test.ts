// Peers that show no credential must not keep out those that have one, however many connections they hold open.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type NetConnectOpts, type Socket, connect } from 'node:net';
import { describe, test } from 'node:test';
import { scratchFolder } from '../server/auth-tokens.js';
import { eventually } from '../support/eventually.js';
import { fewerThan } from '../support/few-descriptors.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';
import { request, upgradeHeaders } from './raw-http.js';

const token = 'a-token-that-nobody-guesses';

/** Unknown peers that the server puts up with. */
const share = 1_024;

/** More than that, and more than a server took in all that gave known and unknown peers one share. */
const crowd = 1_100;

class Crowd implements AsyncDisposable {
  readonly #sockets: Socket[] = [];

  /** Each sends the text, reads nothing and stays. A Unix socket whose backlog is full refuses at once, so that is tried again. */
  async grow(count: number, to: NetConnectOpts, text = ''): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const socket = await eventually(async () => {
        const opening = connect(to);
        await once(opening, 'connect');
        return opening;
      });
      socket.on('error', () => {});
      this.#sockets.push(socket);
      socket.write(text);
    }
  }

  /** The server has hung up on those that are not in here. */
  get left(): readonly Socket[] {
    return this.#sockets.filter((socket) => !socket.resume().closed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.left) socket.destroy();
    await eventually(() => assert.deepEqual(this.left.length, 0));
  }
}

function addressOf(server: SluiceServer): NetConnectOpts {
  const { hostname, port, pathname } = new URL(server.url);
  return server.url.startsWith('unix:') ? { path: pathname } : { host: hostname, port: Number(port) };
}

// Each connection takes a descriptor here and one in the server.
const skip = fewerThan(2_048);

describe('peers without a credential', { skip }, () => {
  guardAgainstLeaks();

  for (const [what, textFor] of [
    ['say nothing', () => ''],
    ['begin a request and do not end it', () => 'GET / HTTP/1.1\r\nHost:'],
  ] as const) {
    test(`that ${what} do not keep out a client with a token, nor disturb one that is there`, async () => {
      using folder = scratchFolder();
      await using server = await SluiceServer.start('websocket', ['--token-file', folder.write('token', token)]);
      const authorization = `Bearer ${token}`;
      await using present = await overWebSocket(server.url, { authorization });
      await present.greet();
      await using silent = new Crowd();
      await silent.grow(crowd, addressOf(server), textFor());
      await using late = await overWebSocket(server.url, { authorization });
      await late.greet();
      resultOf(await late.request('environment/status'));
      resultOf(await present.request('environment/status'));
      await eventually(() => assert.ok(silent.left.length <= share, `${silent.left.length} are left`));
    });
  }

  test('that connect to a Unix socket and say nothing do not keep out a client, nor disturb one that is there', async () => {
    await using server = await SluiceServer.start('unix');
    await using present = await overUnixSocket(server.url);
    await present.greet();
    await using silent = new Crowd();
    await silent.grow(crowd, addressOf(server));
    await using late = await overUnixSocket(server.url);
    await late.greet();
    resultOf(await late.request('environment/status'));
    resultOf(await present.request('environment/status'));
    await eventually(() => assert.ok(silent.left.length <= share, `${silent.left.length} are left`));
  });

  test('that become WebSockets where no credential is needed, and open no session, do not keep out a client', async () => {
    await using server = await SluiceServer.start('websocket');
    await using present = await overWebSocket(server.url);
    await present.greet();
    await using silent = new Crowd();
    await silent.grow(crowd, addressOf(server), request(server, 'GET /', upgradeHeaders));
    await using late = await overWebSocket(server.url);
    await late.greet();
    resultOf(await late.request('environment/status'));
    resultOf(await present.request('environment/status'));
    await eventually(() => assert.ok(silent.left.length <= share, `${silent.left.length} are left`));
  });
});

describe('many clients at once', { skip }, () => {
  guardAgainstLeaks();

  for (const [kind, open] of [
    ['websocket', overWebSocket],
    ['unix', overUnixSocket],
  ] as const) {
    test(`do not push each other out before they have opened their sessions, over ${kind}`, async () => {
      await using server = await SluiceServer.start(kind);
      const peers = await Promise.all(Array.from({ length: 400 }, async () => open(server.url)));
      for (const reply of await Promise.all(peers.map(async (peer) => peer.greet()))) resultOf(reply);
      await Promise.all(peers.map(async (peer) => peer[Symbol.asyncDispose]()));
    });
  }
});

/** The server may have yet to notice that earlier connections are gone. */
async function greeted(server: SluiceServer): Promise<RawPeer> {
  return eventually(async () => {
    const peer = await overWebSocket(server.url);
    const reply = await peer.greet();
    if (reply['error'] !== undefined) await peer[Symbol.asyncDispose]();
    resultOf(reply);
    return peer;
  });
}

describe('a caller', { skip }, () => {
  guardAgainstLeaks();

  test('whose connections were lost again and again gets in: its oldest abandoned session without a process ends', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-sessions-per-token', '3']);
    const sessions: string[] = [];
    for (const hasProcess of [true, false, false]) {
      await using lost = await overWebSocket(server.url);
      sessions.push(String(resultOf(await lost.greet({ resumeSessionId: null }))['sessionId']));
      if (hasProcess) resultOf(await lost.request('process/start', { processId: 'p', argv: ['/bin/sleep', '60'] }));
    }
    const [withProcess, oldest, youngest] = sessions;
    await using late = await greeted(server);
    resultOf(await late.request('environment/status'));
    const resumes = async (resumeSessionId: string | undefined) => {
      await using peer = await overWebSocket(server.url);
      return (await peer.request('initialize', { clientName: 'raw', resumeSessionId }))['error'] === undefined;
    };
    assert.deepEqual([await resumes(withProcess), await resumes(oldest), await resumes(youngest)], [true, false, true]);
  });

  test('with nothing but abandoned sessions that have processes loses the oldest of them', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-sessions-per-token', '2']);
    const sessions: string[] = [];
    for (const processId of ['first', 'second']) {
      await using lost = await overWebSocket(server.url);
      sessions.push(String(resultOf(await lost.greet({ resumeSessionId: null }))['sessionId']));
      resultOf(await lost.request('process/start', { processId, argv: ['/bin/sleep', '60'] }));
    }
    const readOf = async (sessionId: string | undefined) => {
      await using peer = await overWebSocket(server.url);
      return await peer.request('initialize', { clientName: 'raw', resumeSessionId: sessionId });
    };
    await using late = await greeted(server);
    resultOf(await late.request('environment/status'));
    assert.match(JSON.stringify(await readOf(sessions[0])), /unknown session id/);
    resultOf(await readOf(sessions[1]));
  });
});
