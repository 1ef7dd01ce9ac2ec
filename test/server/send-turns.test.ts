// Who sends next to a peer that lags.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Channel } from '#src/rpc/channel.js';
import { SendTurns } from '#src/server/send-turns.js';
import { deferred } from '#src/base/deferred.js';
import { settle } from '../support/fake-clock.js';

describe('a peer that lags', () => {
  test('gets one message from each sender in turn, and no more than it can take', async () => {
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

  test('that has caught up is sent everything that waits', async () => {
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

/** Has room for so many messages, and then lags until it has caught up. */
class LaggingPeer {
  #room = 0;
  #drained = deferred<void>();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that turns ask of a channel
  readonly channel = { drained: () => this.#drained.promise } as Channel;

  /** Whether there is room left after it. */
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
