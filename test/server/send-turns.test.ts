// Senders take turns while a peer lags.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import type { Channel } from '#src/rpc/channel.js';
import { SendTurns } from '#src/server/send-turns.js';
import { deferred } from '#src/base/deferred.js';
import { eventually, settled } from '../support/eventually.js';
import { settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

guardAgainstLeaks();

describe('a peer that lags', () => {
  test('gets one message from each sender in turn, and no more than it can accept', async () => {
    const peer = new LaggingPeer();
    const turns = new SendTurns(peer.channel);
    const sent: string[] = [];
    const sender = (name: string) => {
      const send = (): boolean => {
        sent.push(name);
        const keepsUp = peer.take();
        if (!keepsUp) turns.wait(send);
        return keepsUp;
      };
      return send;
    };
    for (const name of ['a', 'b', 'c']) turns.wait(sender(name));
    await settle();
    assert.deepEqual(sent, []);
    for (const expected of ['a', 'ab', 'abc', 'abca', 'abcab']) {
      peer.catchUp(1);
      await settle();
      assert.equal(sent.join(''), expected);
    }
  });

  test('that has caught up gets everything that was waiting', async () => {
    const peer = new LaggingPeer();
    const turns = new SendTurns(peer.channel);
    let sent = 0;
    for (let count = 0; count < 5; count += 1) {
      turns.wait(() => {
        sent += 1;
        return peer.take();
      });
    }
    peer.catchUp(100);
    await settle();
    assert.equal(sent, 5);
  });
});

test('a process that writes little does not wait behind one that writes a lot while their peer lags', async () => {
  await using server = await SluiceServer.start('websocket');
  await using peer = await overWebSocket(server.url);
  await peer.greet();
  const start = (processId: string, script: string) =>
    peer.request('process/start', {
      processId,
      argv: ['sh', '-c', script],
      env: { PATH: process.env['PATH'] ?? '' },
      pipeStdin: true,
    });
  resultOf(await start('quiet', 'while read -r line; do echo "got $line"; done'));
  resultOf(await start('flood', 'read -r line; exec cat /dev/zero'));
  const write = (id: number, processId: string) => {
    const params = { processId, chunk: Buffer.from('it\n').toString('base64') };
    peer.send(JSON.stringify({ id, method: 'process/write', params }));
  };
  await using observer = await connect(server.url);
  const bytesOf = async (id: string) =>
    (await observer.list({ scope: 'all' })).find(({ processId }) => processId === id)?.outputBytes ?? 0;
  peer.pause();
  write(0, 'flood');
  await eventually(async () => assert.ok((await bytesOf('flood')) > 0));
  await settled(async () => bytesOf('flood'));
  for (let count = 1; count <= 5; count += 1) {
    write(count, 'quiet');
    await eventually(async () => assert.equal(await bytesOf('quiet'), count * 'got it\n'.length));
  }
  peer.resume();
  await eventually(() => assert.equal(peer.outputOf('quiet'), 'got it\n'.repeat(5)));
  const senders = peer.messages.filter(({ method }) => method === 'process/output').map((each) => paramsOf(each)['processId']);
  assert.deepEqual(senders.slice(senders.indexOf('quiet'), senders.lastIndexOf('quiet') + 1), Array(5).fill('quiet'));
});

/** Accepts a given number of messages, then lags until it has caught up. */
class LaggingPeer {
  #room = 0;
  #drained = deferred<void>();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the only member that SendTurns uses
  readonly channel = { drained: () => this.#drained.promise } as Channel;

  /** Whether there is room for another message. */
  take(): boolean {
    this.#room -= 1;
    if (this.#room <= 0) this.#drained = deferred();
    return this.#room > 0;
  }

  catchUp(room: number): void {
    this.#room = room;
    this.#drained.resolve();
  }
}
