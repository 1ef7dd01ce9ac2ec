// Connections that are cut while files are on their way: a transfer continues byte for byte, a watch says what it may have missed, and a
// client that never returns leaves nothing behind.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Client, connect } from '#src/index.js';
import { ByteCutter, type Direction } from '../support/byte-cutter.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { descriptorCount } from '../support/proc.js';
import { Scratch } from '../support/scratch.js';
import { SluiceServer, limitFlags } from '../support/sluice-server.js';

/** Cuts in the direction of the content are this many bytes apart: 10 with SLUICE_LONG=1. In the other direction there is little to cut. */
const contentStep = process.env['SLUICE_LONG'] === '1' ? 10 : 710;
const otherStep = 10;

/** Clients that share the work of one test. */
const clients = 6;

/** This many offsets in a row without a cut mean that the transfer is shorter than the offset. */
const beyondTheEnd = 4;

const content = randomBytes(64 * 1024);

guardAgainstLeaks();

describe('a connection that is cut', () => {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('websocket');
  });
  after(async () => server[Symbol.asyncDispose]());

  const transfers: Readonly<Record<string, (client: Client, scratch: Scratch) => Promise<void>>> = {
    read: async (client, scratch) => {
      assert.ok(content.equals(await client.files.read(scratch.at('file'))));
    },
    write: async (client, scratch) => {
      const { bytes } = await client.files.write(scratch.at('written'), content);
      assert.equal(bytes, content.length);
      assert.ok(content.equals(readFileSync(scratch.at('written'))));
    },
    download: async (client, scratch) => {
      const { files, bytes } = await client.files.download(scratch.at('folder'), scratch.at('down'));
      assert.deepEqual([files, bytes], [2, content.length + 5]);
      assert.ok(content.equals(readFileSync(scratch.at('down', 'file'))));
    },
    upload: async (client, scratch) => {
      const { files, bytes } = await client.files.upload(scratch.at('folder'), scratch.at('up'));
      assert.deepEqual([files, bytes], [2, content.length + 5]);
      assert.ok(content.equals(readFileSync(scratch.at('up', 'file'))));
    },
  };

  for (const [name, transfer] of Object.entries(transfers)) {
    for (const direction of ['toServer', 'toClient'] as const) {
      test(`at bytes ${direction} of a ${name} of 64 KiB delivers each byte once`, async (context) => {
        const isContent = (name === 'write' || name === 'upload') === (direction === 'toServer');
        const step = isContent ? contentStep : otherStep;
        const run = (index: number) => cutAlong(server, { direction, first: index * step, step: clients * step, transfer });
        const counts = await Promise.all(Array.from({ length: clients }, (_, index) => run(index)));
        const cuts = counts.reduce((sum, count) => sum + count, 0);
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts > 10);
      });
    }
  }

  test('at random moments of large transfers delivers each byte once', async () => {
    using scratch = new Scratch();
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    const large = randomBytes(8 * 1024 * 1024);
    proxy.cutRandomly(100);
    for (let round = 0; round < 3 || proxy.cutCount < 100; round += 1) {
      await client.files.write(scratch.at('file'), large);
      assert.ok(large.equals(readFileSync(scratch.at('file'))));
      assert.ok(large.equals(await client.files.read(scratch.at('file'))));
    }
  });

  test('at bytes of the beginning of a watch does not keep it from working', async () => {
    using scratch = new Scratch();
    await using cutter = await ByteCutter.open(server.url);
    await using client = await connect(cutter.url);
    for (const direction of ['toServer', 'toClient'] as const) {
      for (let afterBytes = 0; afterBytes < 200; afterBytes += otherStep) {
        const file = scratch.at(`${direction}-${afterBytes}`);
        cutter.plan({ direction, afterBytes });
        await using watch = client.files.watch(scratch.path);
        await watch.ready;
        cutter.plan();
        writeFileSync(file, '');
        for await (const event of watch) if (event.kind === 'created' && event.path === file) break;
      }
    }
  });

  test('makes a watch say that it may have missed something, and go on', async () => {
    using scratch = new Scratch();
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    await using watch = client.files.watch(scratch.path);
    await watch.ready;
    proxy.cut();
    assert.deepEqual(await watch.next(), { done: false, value: { kind: 'overflow' } });
    writeFileSync(scratch.at('file'), '');
    assert.deepEqual(await watch.next(), { done: false, value: { kind: 'created', path: scratch.at('file') } });
  });
});

interface Series {
  readonly direction: Direction;
  readonly first: number;
  readonly step: number;
  readonly transfer: (client: Client, scratch: Scratch) => Promise<void>;
}

/** Cuts at increasing offsets until they lie beyond the end of the transfer; returns the number of cuts made. */
async function cutAlong(server: SluiceServer, { direction, first, step, transfer }: Series): Promise<number> {
  using scratch = new Scratch();
  writeFileSync(scratch.at('file'), content);
  mkdirSync(scratch.at('folder'));
  writeFileSync(scratch.at('folder', 'file'), content);
  writeFileSync(scratch.at('folder', 'small'), 'small');
  await using cutter = await ByteCutter.open(server.url);
  await using client = await connect(cutter.url);
  let cuts = 0;
  let misses = 0;
  for (let afterBytes = first; misses < beyondTheEnd; afterBytes += step) {
    cutter.plan({ direction, afterBytes });
    await transfer(client, scratch);
    misses = cutter.pending === 0 ? 0 : misses + 1;
    cuts += cutter.pending === 0 ? 1 : 0;
    cutter.plan();
  }
  return cuts;
}

test('a client that reads, writes, watches, transfers and goes away leaves no descriptor, file or error', async () => {
  using scratch = new Scratch();
  await using server = await SluiceServer.start('websocket', limitFlags({ detachGraceMs: 100 }));
  writeFileSync(scratch.at('file'), Buffer.alloc(8 * 1024 * 1024));
  mkdirSync(scratch.at('folder'));
  writeFileSync(scratch.at('folder', 'file'), Buffer.alloc(8 * 1024 * 1024));
  const work = async (goAway: (client: Client, proxy: CuttingProxy) => Promise<void>): Promise<void> => {
    await using proxy = await CuttingProxy.open(server.url);
    const client = await connect(proxy.url, { timeouts: { reconnectMs: 0 } });
    const { files } = client;
    await using _reading = await files.readStream(scratch.at('file'));
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(4 * 1024 * 1024);
      await new Promise<never>(() => {});
    };
    const pending = [
      files.write(scratch.at('written'), endless()),
      files.watch(scratch.path).next(),
      files.download(scratch.at('folder'), scratch.at('down'), { onProgress: () => void goAway(client, proxy) }),
    ];
    await Promise.allSettled(pending);
    await client.close();
  };
  await work((client) => client.close()); // loads the code that the server needs
  const count = () => descriptorCount(server.child.pid);
  const baseline = await settled(count);
  for (let round = 0; round < 5; round += 1) {
    await work((client) => client.close());
    await work(async (_, proxy) => proxy.cut());
  }
  await eventually(() => assert.ok(count() <= baseline, `${count()} descriptors, ${baseline} before`));
  const left = readdirSync(scratch.path).filter((name) => !['file', 'folder', 'down'].includes(name));
  assert.deepEqual(left, []);
  assert.deepEqual(
    server.log.filter((line) => line.includes('internal error')),
    [],
    'taken for a fault of the server',
  );
});
