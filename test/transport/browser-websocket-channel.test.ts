// Channels over a browser's WebSocket, which cannot be paused, has no drain event, and does not report why it failed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChannelEnd } from '#src/rpc/channel.js';
import {
  BrowserWebSocketChannel,
  type WebSocketLike,
  openBrowserWebSocketChannel,
} from '#src/transport/browser-websocket-channel.js';
import { FakeClock, settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';

guardAgainstLeaks();

describe('opening', () => {
  test('waits until the WebSocket is open', async () => {
    const { socket, options } = fake();
    let isOpen = false;
    const opening = openBrowserWebSocketChannel(socket, options).then((channel) => ((isOpen = true), channel));
    await settle();
    assert.equal(isOpen, false);
    socket.fire('open', {});
    assert.equal((await opening).peer, 'ws://fake');
  });

  test('fails when the WebSocket closes instead, even without a reason', async () => {
    const { socket, options } = fake();
    const opening = openBrowserWebSocketChannel(socket, options);
    socket.fire('error', {});
    socket.fire('close', { code: 1006, reason: '' });
    await assert.rejects(opening, { name: 'ConnectError', message: 'could not connect to ws://fake: the connection failed' });
  });
});

test('binary messages are requested as ArrayBuffer, since blobs would be read out of order', () => {
  const { socket } = open();
  assert.equal(socket.binaryType, 'arraybuffer');
});

test('a message that is neither text nor bytes is unreadable', () => {
  const { socket, channel } = open();
  const recorder = record(channel);
  socket.fire('message', { data: null });
  socket.fire('message', { data: Uint8Array.of(0x01, 7).buffer });
  assert.deepEqual(recorder.arrivals, [{ unreadable: 'a message is neither text nor bytes' }, { binary: '07' }]);
});

describe('while the peer lags', () => {
  test('the buffered amount is polled, but only while a sender waits', async () => {
    const { socket, channel, clock } = open();
    assert.equal(channel.send('{}'), true);
    socket.bufferedAmount = 256 * 1024 + 1;
    assert.equal(channel.send('{}'), false);
    assert.deepEqual(clock.pendingMs, []);
    const waiting = [channel.drained(), channel.drained()];
    assert.equal(clock.pendingMs.length, 1);
    await clock.advance(100);
    assert.equal(clock.pendingMs.length, 1);
    socket.bufferedAmount = 64 * 1024;
    await clock.advance(100);
    await Promise.all(waiting);
    assert.deepEqual(clock.pendingMs, []);
  });

  test('a close releases waiting senders and stops the polling', async () => {
    const { socket, channel, clock } = open();
    socket.bufferedAmount = 1_000_000;
    const waiting = channel.drained();
    channel.close();
    await waiting;
    socket.fire('close', { code: 1000, reason: '' });
    assert.deepEqual(await channel.closed, {});
    assert.deepEqual(clock.pendingMs, []);
  });
});

describe('while the channel is paused', () => {
  test('messages are held, up to a limit at which the channel closes', async () => {
    const { socket, channel } = open();
    const recorder = record(channel);
    channel.pause();
    socket.fire('message', { data: 'x'.repeat(900) });
    channel.resume();
    assert.equal(recorder.arrivals.length, 1);
    channel.pause();
    for (let count = 0; count < 2; count += 1) socket.fire('message', { data: 'x'.repeat(500) });
    assert.deepEqual(socket.closes, [[4000, 'the peer sent more than 1000 bytes while this side was not reading']]);
    socket.fire('close', { code: 4000, reason: '' });
    assert.deepEqual(await channel.closed, { problem: 'the peer sent more than 1000 bytes while this side was not reading' });
    channel.resume();
    assert.equal(recorder.arrivals.length, 1);
  });

  test('a flood of empty messages counts towards the limit', () => {
    const { socket, channel } = open();
    record(channel);
    channel.pause();
    for (let count = 0; count < 100; count += 1) socket.fire('message', { data: '' });
    assert.equal(socket.closes.length, 1);
  });
});

describe('a close', () => {
  test('that the peer never answers is given up on', async () => {
    const { channel, clock } = open();
    channel.close();
    await clock.advance(5_000);
    assert.deepEqual(await channel.closed, { problem: 'the peer did not answer the close' });
  });

  test('truncates its reason to what fits into a close frame', () => {
    const { socket, channel } = open();
    channel.close('é'.repeat(100));
    assert.deepEqual(socket.closes, [[4000, 'é'.repeat(61)]]);
  });

  test('by the peer is a problem unless its code means good order', async () => {
    const ends: Record<number, ChannelEnd> = {
      1000: {},
      1001: { isFinal: true },
      1005: {},
      1006: { problem: 'the connection broke off without a close' },
      1009: { problem: 'closed by the peer: code 1009' },
      4000: { problem: 'closed by the peer: code 4000' },
    };
    for (const [code, end] of Object.entries(ends)) {
      const { socket, channel } = open();
      socket.fire('close', { code: Number(code), reason: '' });
      assert.deepEqual(await channel.closed, end);
    }
  });
});

type Listener = (event: never) => void;

/** A browser's WebSocket, controlled by the test. */
class FakeWebSocket implements WebSocketLike {
  bufferedAmount = 0;
  binaryType = 'blob';
  readonly closes: unknown[] = [];
  readonly #listeners: [string, Listener][] = [];

  send(): void {}

  close(...reason: unknown[]): void {
    this.closes.push(reason);
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.push([type, listener]);
  }

  fire(type: 'open' | 'message' | 'error' | 'close', event: object): void {
    for (const [wanted, listener] of this.#listeners) if (wanted === type) listener(event as never);
  }
}

function fake() {
  const clock = new FakeClock();
  return { socket: new FakeWebSocket(), clock, options: { peer: 'ws://fake', maxHeldBytes: 1_000, clock } };
}

function open() {
  const { socket, clock, options } = fake();
  return { socket, clock, channel: new BrowserWebSocketChannel(socket, options) };
}
