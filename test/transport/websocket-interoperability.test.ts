// Our WebSocket against `ws`: random messages, cut into random fragments and random chunks, arrive unchanged in both directions.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '#src/base/clock.js';
import { openChannel } from '#src/transport/connect.js';
import { binaryFrame, textFrame } from '#src/transport/websocket-frame.js';
import { WebSocketChannel } from '#src/transport/websocket-channel.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';
import { loopback, maxMessageBytes } from './channel-pairs.js';
import { join, listen } from './door.js';
import type { Arrival } from './recorder.js';

guardAgainstLeaks();

/** Fragments of one message; a few are long enough for the longer forms of the header. */
const fragments = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
    fc.constantFrom('x'.repeat(70_000), 'é'.repeat(500)),
  ),
  { minLength: 1, maxLength: 4 },
);
const message = fc.record({ fragments, isBinary: fc.boolean(), hasPing: fc.boolean() });
const messages = fc.array(message, { maxLength: 10 });
type Message = typeof message extends fc.Arbitrary<infer T> ? T : never;

test('our server reads what ws sends in fragments, with pings between them', async () => {
  await using door = await listen();
  await using client = await join(door);
  const { arrivals } = record(door.only);
  await fc.assert(
    fc.asyncProperty(messages, async (sent) => {
      arrivals.length = 0;
      for (const each of sent) sendInFragments(client, each);
      await eventually(() => assert.equal(arrivals.length, sent.length));
      assert.deepEqual(arrivals, sent.map(arrivalOf));
    }),
    { numRuns: 50 },
  );
});

test('our client reads what ws sends in fragments, with pings between them', async () => {
  await using server = await wsServer();
  const channel = await openChannel(server.endpoint, { maxMessageBytes, timeoutMs: 10_000 });
  const { arrivals } = record(channel);
  await fc.assert(
    fc.asyncProperty(messages, async (sent) => {
      arrivals.length = 0;
      for (const each of sent) sendInFragments(server.only(), each);
      await eventually(() => assert.equal(arrivals.length, sent.length));
      assert.deepEqual(arrivals, sent.map(arrivalOf));
    }),
    { numRuns: 50 },
  );
  channel.close();
  assert.deepEqual(await channel.closed, {});
});

test('ws reads what our client sends, masked', async () => {
  await using server = await wsServer();
  const channel = await openChannel(server.endpoint, { maxMessageBytes, timeoutMs: 10_000 });
  record(channel);
  const received: (string | Buffer)[] = [];
  server.only().on('message', (content: Buffer, isBinary) => received.push(isBinary ? content : content.toString()));
  await fc.assert(
    fc.asyncProperty(messages, async (sent) => {
      received.length = 0;
      const contents = sent.map((each) => (each.isBinary ? Buffer.from(each.fragments.join('')) : each.fragments.join('')));
      for (const content of contents) {
        if (typeof content === 'string') channel.send(content);
        else channel.sendBinary(content);
      }
      await eventually(() => assert.equal(received.length, sent.length));
      const expected = contents.map((content) => (typeof content === 'string' ? content : marked(content)));
      assert.deepEqual(received, expected);
    }),
    { numRuns: 50 },
  );
  channel.close();
  await channel.closed;
});

describe('our frames', () => {
  test('are read by our receiver in any chunks, masked or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.infiniteStream(fc.integer({ min: 1, max: 3000 })),
        fc.option(fc.integer()),
        async (sent, sizes, key) => {
          const keys = key === null ? undefined : () => key;
          const bytes = Buffer.concat(sent.map((each) => frameOf(each, keys)));
          const wire = new Duplex({ read() {}, write: (_content, _encoding, done) => done() });
          const role = keys === undefined ? ({ kind: 'client', keys: () => 0 } as const) : ({ kind: 'server' } as const);
          const options = { socket: wire, role, head: Buffer.alloc(0), peer: 'test', maxMessageBytes, clock: systemClock };
          const channel = new WebSocketChannel(options);
          const { arrivals } = record(channel);
          for (let at = 0; at < bytes.length;) {
            const size = Number(sizes.next().value);
            wire.push(Buffer.from(bytes.subarray(at, at + size)));
            at += size;
          }
          await eventually(() => assert.equal(arrivals.length, sent.length));
          assert.deepEqual(arrivals, sent.map(arrivalOf));
          channel.destroy('done');
          await channel.closed;
        },
      ),
      { numRuns: 100 },
    );
  });
});

function frameOf({ fragments: parts, isBinary }: Message, keys: (() => number) | undefined): Uint8Array {
  const text = parts.join('');
  const half = Buffer.from(text).subarray(0, text.length / 2);
  const rest = Buffer.from(text).subarray(half.length);
  const { length, write } = isBinary ? binaryFrame([half, rest], keys) : textFrame(text, keys);
  const frame = Buffer.alloc(length);
  write(frame);
  return frame;
}

function sendInFragments(socket: WebSocket, { fragments: parts, isBinary, hasPing }: Message): void {
  const contents = isBinary ? [Buffer.of(0x01), ...parts] : parts;
  for (const [index, content] of contents.entries()) {
    socket.send(content, { binary: isBinary, fin: index === contents.length - 1 });
    if (hasPing) socket.ping('between');
  }
}

function arrivalOf({ fragments: parts, isBinary }: Message): Arrival {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return isBinary ? { binary: bytes.toString('hex') } : bytes.toString();
}

function marked(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x01), payload]);
}

async function wsServer() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  return {
    endpoint: { ...loopback, port: (server.address() as { port: number }).port },
    only(): WebSocket {
      const [socket] = server.clients;
      assert.ok(socket !== undefined && server.clients.size === 1);
      return socket;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of server.clients) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
