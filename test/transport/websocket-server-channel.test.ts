// What a server receives and sends over a WebSocket, and how it detects that the peer is gone.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { WebSocket } from 'ws';
import type { Channel } from '#src/rpc/channel.js';
import { eventually, settled } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';
import { join, listen, rawWebSocket } from './door.js';

guardAgainstLeaks();

describe('messages', () => {
  test('arrive as text or bytes; bytes may contain JSON or a frame, and nothing else', async () => {
    await using door = await listen();
    await using client = await join(door);
    const recorder = record(door.only);
    for (const content of ['{}', Buffer.from('{"a":1}'), Buffer.from(' \n[]'), Buffer.of(0x01, 7, 8), Buffer.of(0x01)])
      client.send(content);
    for (const content of [Buffer.of(0x02, 7), Buffer.alloc(0), Buffer.from('[]'), Buffer.from('{\xff', 'latin1')])
      client.send(content);
    await eventually(() => assert.equal(recorder.arrivals.length, 9));
    assert.deepEqual(recorder.arrivals, [
      '{}',
      '{"a":1}',
      ' \n[]',
      { binary: '0708' },
      { binary: '' },
      { unreadable: 'a binary message starts with byte 2, expected 1 before a frame or { before JSON' },
      { unreadable: 'a binary message is empty' },
      { unreadable: 'a binary message starts with byte 91, expected 1 before a frame or { before JSON' },
      { unreadable: 'a binary message holds text that is not valid UTF-8' },
    ]);
  });

  test('are sent as text, and frames as bytes after a mark', async () => {
    await using door = await listen();
    await using client = await join(door);
    const received: [string, boolean][] = [];
    client.on('message', (content: Buffer, isBinary) => received.push([content.toString('latin1'), isBinary]));
    door.only.send('{}');
    door.only.sendBinary(Buffer.from('abc'));
    await eventually(() =>
      assert.deepEqual(received, [
        ['{}', false],
        ['\u0001abc', true],
      ]),
    );
  });

  test('up to the limit are read; a longer one closes its connection with code 1009', async () => {
    await using door = await listen({ maxMessageBytes: 100 });
    const client = await join(door);
    const recorder = record(door.only);
    client.send('x'.repeat(100));
    client.send('x'.repeat(101));
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 1009);
    assert.deepEqual(await door.only.closed, { problem: 'Max payload size exceeded' });
    assert.deepEqual(recorder.arrivals, ['x'.repeat(100)]);
  });

  test('of text that is not UTF-8 close their connection with code 1007', async () => {
    await using door = await listen();
    const client = await join(door);
    record(door.only);
    client.send(Buffer.from('"\xff"', 'latin1'), { binary: false });
    const [code] = (await once(client, 'close')) as [number];
    assert.equal(code, 1007);
    assert.match((await door.only.closed).problem ?? '', /not valid UTF-8/);
  });
});

describe('a peer', () => {
  test('that resets in the middle of a frame ends its own channel with a problem, and no other', async () => {
    await using door = await listen();
    await using other = await join(door);
    const raw = await rawWebSocket(door.listener);
    const [first, second] = [door.channels[0], door.channels[1]];
    assert.ok(first !== undefined && second !== undefined);
    const [recorder] = [record(first), record(second)];
    raw.write(Buffer.of(0x81, 0x85, 0, 0, 0, 0, 0x7b));
    raw.resetAndDestroy();
    assert.match((await second.closed).problem ?? '', /ECONNRESET|broke off/);
    other.send('{}');
    await eventually(() => assert.deepEqual(recorder.arrivals, ['{}']));
  });

  test('that hangs up without a close ends its channel with a problem', async () => {
    await using door = await listen();
    const raw = await rawWebSocket(door.listener);
    record(door.only);
    raw.end();
    assert.deepEqual(await door.only.closed, { problem: 'the connection broke off without a close' });
  });

  test('that closes with a reason is quoted', async () => {
    await using door = await listen();
    const client = await join(door);
    record(door.only);
    client.close(4321, 'tired');
    assert.deepEqual(await door.only.closed, { problem: 'closed by the peer: tired (4321)' });
  });

  test('that closes with a reason is quoted without characters that could forge a log line or move a cursor', async () => {
    await using door = await listen();
    const client = await join(door);
    record(door.only);
    client.close(4321, 'gone\r\n{"level":"error"}\u001b[2K\u0085\u2028\u202etxt ü');
    assert.deepEqual(await door.only.closed, {
      problem: 'closed by the peer: gone\ufffd\ufffd{"level":"error"}\ufffd[2K\ufffd\ufffd\ufffdtxt ü (4321)',
    });
  });

  test('that never answers a close is given up on', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs: 1_000_000 });
    await rawWebSocket(door.listener);
    record(door.only);
    door.only.close();
    await clock.advance(4_999);
    assert.equal(door.listener.url.startsWith('ws://127.0.0.1:'), true);
    await clock.advance(1);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer the close' });
  });

  test('sees no delay between two small messages', async () => {
    await using door = await listen();
    await using client = await join(door);
    let received = 0;
    client.on('message', () => (received += 1));
    const startedAt = performance.now();
    for (let round = 1; round <= 20; round += 1) {
      door.only.send('1');
      door.only.send('2');
      await eventuallySoon(() => received === 2 * round);
    }
    // With Nagle's algorithm each round would wait for the peer's delayed acknowledgement: 40 ms.
    assert.ok(performance.now() - startedAt < 20 * 40);
  });
});

describe('pings', () => {
  const pingMs = 30_000;

  test('are sent regularly, and a peer that answers stays', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    await using client = await join(door);
    record(door.only);
    let pings = 0;
    client.on('ping', () => (pings += 1));
    for (const round of [1, 2, 3]) {
      await clock.advance(pingMs);
      await eventually(() => assert.equal(pings, round));
      await roundTrips(client, door.only);
    }
  });

  test('end the channel of a peer that has been silent for too long', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs, silentMs: 10 * pingMs });
    const raw = await rawWebSocket(door.listener);
    const closed = once(raw, 'close');
    record(door.only);
    await clock.advance(10 * pingMs);
    assert.equal(await settled(() => raw.destroyed), false);
    await clock.advance(pingMs);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer a ping' });
    await closed;
  });

  test('do not end the channel of a peer whose answers we do not read', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs });
    await using client = await join(door);
    const recorder = record(door.only);
    door.only.pause();
    for (let round = 0; round < 3; round += 1) await clock.advance(pingMs);
    client.send('"alive"');
    door.only.resume();
    await eventually(() => assert.deepEqual(recorder.arrivals, ['"alive"']));
  });

  test('do not end the channel of a slow reader, but eventually that of a peer that has stopped reading', async () => {
    const clock = new FakeClock();
    await using door = await listen({ clock, pingMs, silentMs: 5 * pingMs });
    const raw = (await rawWebSocket(door.listener)).pause();
    record(door.only);
    for (let count = 0; count < 40; count += 1) door.only.send('x'.repeat(1_000_000));
    await settled(() => door.only.queuedBytes);
    let hasEnded = false;
    void door.only.closed.then(() => (hasEnded = true));
    for (let round = 0; round < 5; round += 1) await clock.advance(pingMs);
    assert.equal(hasEnded, false);
    await clock.advance(pingMs);
    assert.deepEqual(await door.only.closed, { problem: 'the peer did not answer a ping' });
    raw.destroy();
  });
});

/** Makes a round trip in both directions, so that everything sent before has arrived. */
async function roundTrips(client: WebSocket, channel: Channel): Promise<void> {
  const ponged = once(client, 'pong');
  client.ping();
  await ponged;
  channel.send('{}');
  await once(client, 'message');
}

async function eventuallySoon(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
