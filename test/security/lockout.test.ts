// Peers without a credential must not keep out peers that have one, however many connections they hold open.

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

const token = 'a-token-that-is-hard-to-guess';

/** The server's limit for unauthenticated peers. */
const share = 1_024;

/** More than that limit, and more than a server with a single limit for all peers would accept. */
const crowd = 1_100;

class Crowd implements AsyncDisposable {
  readonly #sockets: Socket[] = [];

  /** Opens connections that send the text and then stay idle. Retries, because a Unix socket with a full backlog refuses at once. */
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

  /** The connections that the server has not closed. */
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
    ['send nothing', () => ''],
    ['send an incomplete request', () => 'GET / HTTP/1.1\r\nHost:'],
  ] as const) {
    test(`that ${what} do not keep out a client with a token, nor disturb a connected one`, async () => {
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

  test('that connect to a Unix socket and send nothing do not keep out a client, nor disturb a connected one', async () => {
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

/** Retries, because the server may not have noticed yet that earlier connections are gone. */
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

  test('whose connections were lost repeatedly gets in: its oldest abandoned session without a process ends', async () => {
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
