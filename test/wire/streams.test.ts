// A client and a server over streams opened by the caller, Node's or the web's.

import assert from 'node:assert/strict';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { TransformStream } from 'node:stream/web';
import { describe, test } from 'node:test';
import { type StreamPair, connect } from '#src/index.js';
import { EndpointError, Server, formatEndpoint, parseListenUrl } from '#src/server/index.js';
import { env } from '../contract/connector.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

type Ends = readonly [client: StreamPair, server: StreamPair];

function nodeStreams(): Ends {
  const [there, back] = [new PassThrough(), new PassThrough()];
  return [
    { readable: back, writable: there, peer: 'a pipe' },
    { readable: there, writable: back },
  ];
}

function webStreams(): Ends {
  const [there, back] = [new TransformStream<Uint8Array, Uint8Array>(), new TransformStream<Uint8Array, Uint8Array>()];
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}

describe('streams opened by the caller', () => {
  guardAgainstLeaks();

  for (const [kind, open] of [
    ['Node', nodeStreams],
    ['web', webStreams],
  ] as const) {
    test(`carry a client and a server (${kind} streams)`, async () => {
      const [here, there] = open();
      await using server = new Server();
      server.accept(there);
      await using client = await connect(here);
      const { stdout } = await client.run(['head', '-c', '1000000', '/dev/zero'], { env });
      assert.equal(stdout.bytes.length, 1_000_000);
      await using child = await client.start({ argv: ['cat'], env, io: { kind: 'pipe', stdin: 'open' } });
      await child.write('there and back');
      assert.equal((await child.collectUntil({ text: 'back', deadlineMs: 20_000 })).reason, 'text');
    });

    test(`end the client when they end, and the session with it (${kind} streams)`, async () => {
      const [here, there] = open();
      await using server = new Server();
      server.accept(there);
      const client = await connect(here);
      const child = await client.start({ argv: ['sleep', '600'], env });
      await server.close();
      assert.deepEqual([(await child.exit).kind, typeof (await client.ended)], ['signal', 'string']);
      await client.close();
    });
  }

  test('that are not streams, have ended, or produce no bytes are refused with the reason', async () => {
    const [{ readable, writable }] = nodeStreams() as readonly [{ readable: Readable; writable: Writable }, StreamPair];
    const ended = new PassThrough().destroy();
    for (const [pair, problem] of [
      [{ readable: ended, writable }, /the readable stream has already ended/],
      [{ readable, writable: ended }, /the writable stream has already ended/],
      [{ readable: new PassThrough({ encoding: 'utf8' }), writable }, /must yield bytes/],
      [{ readable: true, writable: true }, /readable must be a readable stream, got boolean/],
    ] as const) {
      await assert.rejects(connect(pair as StreamPair), problem);
    }
    readable.destroy();
    writable.destroy();
  });

  test('that fail end the client with their error', async () => {
    const [here, there] = nodeStreams() as readonly [StreamPair & { readable: Readable }, StreamPair];
    await using server = new Server();
    server.accept(there);
    const client = await connect(here);
    here.readable.destroy(new Error('the tunnel collapsed'));
    assert.equal(await client.ended, 'the tunnel collapsed');
    await client.close();
  });
});

describe('the parser of listen URLs', () => {
  test('is public, and throws an EndpointError for an invalid one', () => {
    assert.deepEqual(parseListenUrl('ws://127.0.0.1:4500'), {
      kind: 'websocket',
      isSecure: false,
      host: '127.0.0.1',
      port: 4500,
    });
    assert.equal(formatEndpoint(parseListenUrl('unix:///tmp/a%25b')), 'unix:///tmp/a%25b');
    assert.throws(() => parseListenUrl('ws://localhost:1'), EndpointError);
  });
});
