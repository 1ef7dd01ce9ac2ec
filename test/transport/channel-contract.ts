// The contract that every kind of channel must fulfil.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Channel } from '#src/rpc/channel.js';
import { highWaterBytes } from '#src/transport/lag.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Arrival, Recorder } from './recorder.js';

export interface ChannelPair extends AsyncDisposable {
  /** Two ends of one wire, without listeners. */
  readonly ends: readonly [Channel, Channel];
}

/** A message so long that a few dozen fill every buffer between two programs. */
const bulk = JSON.stringify('x'.repeat(64 * 1024));

/** Far more than the high-water mark and the kernels' buffers hold. */
const mostQueuedMessages = 1_000;

/** `unsteerable` is the end that is a browser's WebSocket: it cannot stop reading, so its peer never sees it lag. */
export function channelContract(kind: string, open: () => Promise<ChannelPair>, unsteerable?: 0 | 1): void {
  describe(kind, () => {
    guardAgainstLeaks();

    for (const [direction, of] of Object.entries({ there: [0, 1], back: [1, 0] } as const)) {
      const [from, to] = of;

      describe(direction, () => {
        test('messages arrive unchanged and in order', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          const texts = ['{}', '{"a":"é ✓ 🎈 \\n \\u0001"}', ' 0 ', `"${'long '.repeat(300_000)}"`, ...numbers(1_000)];
          for (const text of texts) sender.send(text);
          await eventually(() => assert.equal(receiver.arrivals.length, texts.length));
          assert.deepEqual(receiver.arrivals, texts);
        });

        test('binary frames arrive unchanged, in order with the messages', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          for (const bytes of [0, 1, 124, 125, 126, 65_534, 65_535, 65_536, 1_000_000]) {
            sender.sendBinary(Buffer.alloc(bytes, '\n\u0001{'));
            sender.send(String(bytes));
          }
          await eventually(() => assert.equal(receiver.arrivals.length, 18));
          const lengths = receiver.arrivals.map((each) =>
            typeof each === 'object' && 'binary' in each ? each.binary.length / 2 : each,
          );
          assert.deepEqual(lengths, [
            0,
            '0',
            1,
            '1',
            124,
            '124',
            125,
            '125',
            126,
            '126',
            65_534,
            '65534',
            65_535,
            '65535',
            65_536,
            '65536',
            1_000_000,
            '1000000',
          ]);
          assert.deepEqual(receiver.arrivals[4], { binary: Buffer.alloc(124, '\n\u0001{').toString('hex') });
        });

        test('the caller may change bytes right after sending them, even while the peer does not read', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          pair.ends[to].pause();
          const bytes = Buffer.alloc(64 * 1024);
          const sent: Arrival[] = [];
          for (let value = 0; value < 100; value += 1) {
            bytes.fill(value);
            sender.sendParts(['"', bytes, '"']);
            sender.sendBinary(Uint8Array.of(value), bytes);
            sent.push(`"${bytes.toString('base64')}"`, { binary: Buffer.of(value, ...bytes).toString('hex') });
            bytes.fill(0xff);
          }
          pair.ends[to].resume();
          await eventually(() => assert.equal(receiver.arrivals.length, sent.length));
          assert.ok(isDeepStrictEqual(receiver.arrivals, sent)); // without a diff, which would be too long to read
        });

        test('long bytes arrive unchanged and in order, even while the peer does not read', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          pair.ends[to].pause();
          const sent: Arrival[] = [];
          // Several pieces of each, with every length of the last group, and short messages in between.
          for (const length of [131_071, 131_072, 131_073, 3_000_000, 3_000_001, 3_000_002]) {
            const bytes = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7919) >> 5));
            sender.sendParts(['{"bytes":"', bytes, '","short":"', bytes.subarray(0, 10), '"}']);
            sent.push(`{"bytes":"${bytes.toString('base64')}","short":"${bytes.toString('base64', 0, 10)}"}`);
            sender.send(`{"length":${length}}`);
            sent.push(`{"length":${length}}`);
            sender.sendBinary(Buffer.of(1, 2, 3));
            sent.push({ binary: '010203' });
          }
          pair.ends[to].resume();
          await eventually(() => assert.equal(receiver.arrivals.length, sent.length));
          assert.ok(isDeepStrictEqual(receiver.arrivals, sent));
        });

        test('long bytes that were sent before a close arrive whole', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          const bytes = Buffer.alloc(8_000_000, 'abcdefg');
          sender.sendParts(['"', bytes, '"']);
          sender.close();
          await eventually(() => assert.equal(receiver.arrivals.length, 1));
          assert.ok(receiver.arrivals[0] === `"${bytes.toString('base64')}"`);
        });

        test('messages that arrive before there is a listener are not lost', async () => {
          await using pair = await open();
          for (const text of numbers(100)) pair.ends[from].send(text);
          await settled(() => pair.ends[from].queuedBytes);
          const receiver = record(pair.ends[to]);
          await eventually(() => assert.deepEqual(receiver.arrivals, numbers(100)));
        });

        test('a paused end delivers nothing, not even messages that have already arrived, until it resumes', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], pair.ends[to]];
          const taken: string[] = [];
          receiver.listen({
            message: (text) => {
              taken.push(text);
              if (taken.length % 10 === 0) receiver.pause();
            },
            binary() {},
            unreadable() {},
          });
          for (const text of numbers(35)) sender.send(text);
          for (const count of [10, 20, 30]) {
            await eventually(() => assert.equal(taken.length, count));
            assert.equal(await settled(() => taken.length), count);
            receiver.resume();
          }
          await eventually(() => assert.deepEqual(taken, numbers(35)));
        });

        // A browser's WebSocket cannot be paused, so its peer never lags.
        const isSteerable = to !== unsteerable;
        if (isSteerable)
          test('send returns false while the peer does not read, and drained waits until it does', async () => {
            await using pair = await open();
            const [sender, receiver] = [pair.ends[from], pair.ends[to]];
            const recorder = record(receiver);
            receiver.pause();
            const sent = await fill(sender);
            assert.ok(sender.queuedBytes > highWaterBytes);
            assert.ok(sender.queuedBytes <= highWaterBytes + bulk.length + 100);
            let isDrained = false;
            const drained = sender.drained().then(() => (isDrained = true));
            assert.equal(await settled(() => isDrained), false);
            receiver.resume();
            await drained;
            assert.ok(sender.queuedBytes <= highWaterBytes);
            await eventually(() => assert.equal(recorder.arrivals.length, sent));
            await sender.drained(); // resolves at once when the peer does not lag
          });

        if (isSteerable)
          test('a peer without a listener lags like one that does not read', async () => {
            await using pair = await open();
            const sent = await fill(pair.ends[from]);
            const recorder = record(pair.ends[to]);
            await eventually(() => assert.equal(recorder.arrivals.length, sent));
          });

        test('everything sent before a close arrives, and both ends end without a problem', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], record(pair.ends[to])];
          for (let count = 0; count < 200; count += 1) sender.send(bulk);
          sender.sendBinary(Uint8Array.of(1, 2, 3));
          sender.close();
          sender.close();
          assert.deepEqual(await Promise.all(pair.ends.map((end) => end.closed)), [{}, {}]);
          assert.equal(receiver.arrivals.length, 201);
          assert.deepEqual(receiver.arrivals.at(-1), { binary: '010203' });
        });

        test('messages that arrived before the end are delivered before it, however late the listener resumes', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], pair.ends[to]];
          const recorder = record(receiver);
          receiver.pause();
          for (const text of numbers(50)) sender.send(text);
          sender.close();
          let hasEnded = false;
          const ended = receiver.closed.then(() => (hasEnded = true));
          assert.deepEqual([await settled(() => hasEnded), recorder.arrivals], [false, []]);
          receiver.resume();
          await ended;
          assert.deepEqual(recorder.arrivals, numbers(50));
        });

        test('an end with undelivered messages from a closed peer can be closed', async () => {
          await using pair = await open();
          const [sender, receiver] = [pair.ends[from], pair.ends[to]];
          const recorder = record(receiver);
          receiver.pause();
          for (const text of numbers(50)) sender.send(text);
          sender.close();
          await settled(() => sender.queuedBytes);
          receiver.close();
          await receiver.closed;
          receiver.resume();
          assert.deepEqual(recorder.arrivals, []);
        });

        test('an end that was closed with a problem reports it', async () => {
          await using pair = await open();
          record(pair.ends[to]);
          pair.ends[from].close('it spoke out of turn 🎈'.repeat(20));
          assert.deepEqual(await pair.ends[from].closed, { problem: 'it spoke out of turn 🎈'.repeat(20) });
          await pair.ends[to].closed;
        });

        test('a closed end sends nothing, blocks no sender and delivers nothing', async () => {
          await using pair = await open();
          const [one, other] = [pair.ends[from], pair.ends[to]];
          const [atOne, atOther] = [record(one), record(other)];
          other.send('"crosses the close"');
          one.close();
          const before = atOne.arrivals.length;
          assert.equal(one.send('{}'), false);
          assert.equal(one.sendBinary(Uint8Array.of(1)), false);
          one.pause();
          one.resume();
          await one.drained();
          await Promise.all([one.closed, other.closed]);
          assert.equal(other.send('{}'), false);
          await other.drained();
          assert.deepEqual([atOne.arrivals.length, atOther.arrivals], [before, []]);
        });

        if (isSteerable)
          test('closing releases senders that wait for the peer to catch up', async () => {
            await using pair = await open();
            record(pair.ends[to]);
            pair.ends[to].pause();
            await fill(pair.ends[from]);
            const drained = pair.ends[from].drained();
            pair.ends[from].close();
            await drained;
            pair.ends[to].resume();
            await pair.ends[from].closed;
          });
      });
    }

    test('both ends may close at once', async () => {
      await using pair = await open();
      for (const end of pair.ends) record(end);
      for (const end of pair.ends) end.close();
      assert.deepEqual(await Promise.all(pair.ends.map((end) => end.closed)), [{}, {}]);
    });

    test('two pairs do not disturb each other', async () => {
      await using stuck = await open();
      await using lively = await open();
      record(stuck.ends[1]);
      stuck.ends[1].pause();
      await fill(stuck.ends[0]);
      const receiver = record(lively.ends[1]);
      lively.ends[0].send('"still here"');
      await eventually(() => assert.deepEqual(receiver.arrivals, ['"still here"']));
      stuck.ends[0].close();
      stuck.ends[1].resume();
      await stuck.ends[1].closed;
      lively.ends[1].send('{}');
      lively.ends[0].close();
      assert.deepEqual(await lively.ends[1].closed, {});
    });

    test('a channel has one listener', async () => {
      await using pair = await open();
      record(pair.ends[0]);
      assert.throws(() => record(pair.ends[0]), /one listener/);
    });
  });
}

/** Sends until the peer lags for good; returns the number of messages sent. */
async function fill(sender: Channel): Promise<number> {
  for (let sent = 1; sent < mostQueuedMessages; sent += 1) {
    if (!sender.send(bulk)) {
      // Let the system accept what it still can; if the peer lags after that, it lags for good.
      if ((await settled(() => sender.queuedBytes)) > highWaterBytes) return sent;
    }
  }
  return assert.fail(`${mostQueuedMessages} messages and nothing lags`);
}

export function record(channel: Channel): Recorder {
  const recorder = new Recorder();
  channel.listen(recorder);
  return recorder;
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}
