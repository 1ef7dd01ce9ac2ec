// Promise 6, continuity: a connection that is cut repeatedly, at any moment, costs time and nothing else.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };
const cuts = 200;
const printedBytes = 50_000_000;
const writtenBytes = 10_000_000;

describe('a connection that is cut', () => {
  guardAgainstLeaks();

  test(`at ${cuts} random moments loses and duplicates nothing, in either direction`, async (context) => {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    const written = patterned(writtenBytes);
    const printing = client.run(['sh', '-c', `head -c ${printedBytes} /dev/zero | tr '\\0' x`], {
      env,
      maxOutputBytes: printedBytes * 2,
    });
    const writing = client.run(['sh', '-c', 'cat; echo end >&2'], {
      env,
      input: slowly(written, proxy),
      maxOutputBytes: writtenBytes * 2,
    });
    proxy.cutRandomly(cuts);
    const [printed, echoed] = await Promise.all([printing, writing]);
    context.diagnostic(`${proxy.cutCount} cuts`);
    assert.equal(printed.stdout.bytes.length, printedBytes);
    assert.equal(
      printed.stdout.bytes.every((byte) => byte === 0x78),
      true,
    );
    assert.deepEqual(
      [echoed.stdout.bytes.length, digest(echoed.stdout.bytes), echoed.stderr.text],
      [writtenBytes, digest(written), 'end\n'],
    );
    assert.deepEqual([printed.ending.reason, echoed.ending.reason], ['exited', 'exited']);
    assert.equal(proxy.cutCount, cuts);
  });

  test('for good ends every handle as lost, with the reason', async () => {
    const server = await SluiceServer.start('websocket');
    await using client = await connect(server.url, { timeouts: { reconnectMs: 300 } });
    const child = await client.start({ argv: ['sleep', '60'], env });
    await server.stop('SIGKILL');
    const { kind, reason, outputComplete } = await child.exit;
    assert.deepEqual({ kind, reason, outputComplete }, { kind: 'lost', reason: 'serverLost', outputComplete: false });
    for await (const _ of child.output) assert.fail('output from a server that is gone');
    assert.match((await client.ended) ?? '', /./);
    await assert.rejects(client.list());
    await server[Symbol.asyncDispose]();
  });
});

/** Yields the input in pieces, one per cut, so that every cut falls while both directions carry data. */
async function* slowly(bytes: Uint8Array, proxy: CuttingProxy): AsyncGenerator<Uint8Array> {
  const pieces = cuts;
  const size = Math.ceil(bytes.length / pieces);
  for (let piece = 0; piece < pieces; piece += 1) {
    yield bytes.subarray(piece * size, (piece + 1) * size);
    await proxy.reached(piece);
  }
  await proxy.reached(cuts);
}

function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = (at * 7 + (at >> 8)) % 251;
  return bytes;
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
