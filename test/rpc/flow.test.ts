// Flows over a wire that loses what is on it: no byte is missing, repeated or out of order, and nothing is kept after the end.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Flow, type FlowLimits, FlowResetError } from '#src/rpc/flow.js';
import { FlowTable } from '#src/rpc/flow-table.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { LossyWire } from '../support/lossy-wire.js';
import { Random } from '../support/random.js';

const limits: FlowLimits = { windowBytes: 100, frameBytes: 10, acknowledgeBytes: 25 };
const bytes = (content: string) => Buffer.from(content, 'latin1');

describe('flows', () => {
  guardAgainstLeaks();

  test('bytes arrive in order, both ways, and the ends arrive after them', async () => {
    const wire = new LossyWire(limits);
    const { client, server } = wire.open(1);
    await client.write(bytes('a question'));
    await server.write(bytes('an answer'));
    client.end();
    server.end();
    wire.deliverAll();
    assert.deepEqual([await text(server), await text(client)], ['a question', 'an answer']);
    wire.deliverAll();
    assert.deepEqual([wire.tables.client.size, wire.tables.server.size], [0, 0]);
  });

  test('one direction continues after the other has ended', async () => {
    const wire = new LossyWire(limits);
    const { client, server } = wire.open(1);
    client.end();
    wire.deliverAll();
    assert.equal(await server.read(), undefined);
    await server.write(bytes('still here'));
    server.end();
    wire.deliverAll();
    assert.equal(await text(client), 'still here');
  });

  test('a writer waits while its reader is a window behind', async () => {
    const wire = new LossyWire(limits);
    const { client, server } = wire.open(1);
    let written = 0;
    const writing = (async () => {
      for (; written < 500; written += 10) await client.write(bytes('0123456789'));
      client.end();
    })();
    await settle(wire);
    assert.equal(written, 100);
    assert.equal(server.receivedBytes, 100);
    const received = text(server);
    await settle(wire, received);
    await writing;
    assert.equal((await received).length, 500);
  });

  test('tiny writes are kept together and sent together when the peer lags', async () => {
    const wire = new LossyWire({ windowBytes: 1_000, frameBytes: 400, acknowledgeBytes: 250 }, { lagsAt: 1 });
    const { client, server } = wire.open(1);
    for (let count = 0; count < 900; count += 1) await client.write(bytes('x'));
    client.end();
    const received = text(server);
    await settle(wire, received);
    assert.equal((await received).length, 900);
    const frames = wire.sent.filter((line) => line.startsWith('server data'));
    assert.deepEqual(frames, ['server data 1 0 1', 'server data 1 1 400', 'server data 1 401 400', 'server data 1 801 99']);
  });

  test('a reset reaches both sides; what has arrived can still be read', async () => {
    for (const from of ['client', 'server'] as const) {
      const wire = new LossyWire(limits);
      const flows = wire.open(1);
      const [near, far] = from === 'client' ? [flows.client, flows.server] : [flows.server, flows.client];
      await near.write(bytes('half'));
      wire.deliverAll();
      near.reset('the disk is full');
      wire.deliverAll();
      assert.equal(Buffer.from((await far.read()) ?? []).toString(), 'half');
      const isReset = (error: unknown) => error instanceof FlowResetError && error.message === 'the disk is full';
      await assert.rejects(far.read(), isReset);
      await assert.rejects(far.write(bytes('x')), isReset);
      await assert.rejects(near.write(bytes('x')), isReset);
      assert.deepEqual([wire.tables.client.size, wire.tables.server.size], [0, 0]);
      assert.deepEqual([wire.tables.client.heldBytes, wire.tables.server.heldBytes], [0, 0]);
    }
  });

  test('a reset ends a write and a read that wait', async () => {
    const wire = new LossyWire(limits);
    const { client, server } = wire.open(1);
    const writing = assert.rejects(client.write(Buffer.alloc(200)), FlowResetError);
    const reading = assert.rejects(client.read(), FlowResetError);
    server.reset('no');
    wire.deliverAll();
    await Promise.all([writing, reading]);
  });

  test('nothing can be written after the end', async () => {
    const { client } = new LossyWire(limits).open(1);
    client.end();
    client.end();
    await assert.rejects(client.write(bytes('x')), /flow 1 has ended/);
  });

  test('a flow that ends while the other side is away ends there, too, once it is back', async () => {
    for (const lost of ['last message', 'end', 'reset']) {
      const wire = new LossyWire(limits);
      const { client, server } = wire.open(1);
      await client.write(bytes('all'));
      client.end();
      wire.deliverAll();
      assert.equal(await text(server), 'all');
      if (lost === 'end') wire.disconnect();
      if (lost === 'reset') server.reset('gone');
      else server.end();
      if (lost === 'last message') {
        wire.deliverAll();
        assert.equal(await text(client), ''); // its acknowledgement is lost
      }
      wire.reconnect();
      wire.deliverAll();
      if (lost === 'reset') await assert.rejects(client.read(), /gone/);
      else assert.equal(await text(client), '');
      wire.deliverAll();
      assert.deepEqual([wire.tables.client.size, wire.tables.server.size], [0, 0], lost);
    }
  });

  test('a flow that was reset before the other side knew of it ends there as soon as it is opened', () => {
    const wire = new LossyWire(limits);
    wire.disconnect();
    wire.tables.client.open(7).reset('changed its mind');
    const server = wire.tables.server.open(7); // the call that opens it is repeated
    wire.reconnect();
    wire.deliverAll();
    assert.equal(wire.tables.server.has(7), false);
    return assert.rejects(server.read(), /changed its mind/);
  });

  test('a flow that the other side has never heard of fails', async () => {
    const wire = new LossyWire(limits);
    const flow = wire.tables.client.open(3);
    wire.reconnect();
    await assert.rejects(flow.read(), /no longer knows/);
    assert.equal(wire.tables.client.size, 0);
  });

  test('only the latest endings are kept', () => {
    const wire = new LossyWire(limits);
    for (let id = 1; id <= 2_000; id += 1) wire.tables.client.open(id).reset('x');
    const kept = [...wire.tables.client.receivedBytes().keys()];
    assert.deepEqual([kept.length, kept.at(0), kept.at(-1)], [512, 1_489, 2_000]);
  });
});

describe('a hostile peer of a flow', () => {
  guardAgainstLeaks();

  for (const [what, act, problem] of [
    ['sends bytes from the future', (flow) => flow.received(1, bytes('x')), /got 1 bytes at 1, expected at most a window/],
    ['sends more than the window', (flow) => flow.received(0, Buffer.alloc(111)), /got 111 bytes at 0/],
    ['sends bytes after its end', (flow) => (flow.ended(0), flow.received(0, bytes('x'))), /expected none after the end at 0/],
    ['ends where it has not been', (flow) => flow.ended(5), /ended at 5, but 0 bytes have arrived/],
    ['ends twice, elsewhere', (flow) => (flow.ended(0), flow.ended(1)), /ended at 1/],
    ['acknowledges what was not sent', (flow) => flow.acknowledged(1), /acknowledgement of 1 bytes, but only 0 were sent/],
    ['resumes after what was written', (flow) => flow.attach(new FlowTable(limits), 1), /cannot continue at 1/],
  ] as readonly (readonly [string, (flow: Flow) => void, RegExp])[]) {
    test(`that ${what} is answered with a reset`, async () => {
      const table = new FlowTable(limits);
      const flow = table.open(1);
      act(flow);
      assert.equal(table.size, 0);
      await assert.rejects(flow.write(bytes('x')), problem);
    });
  }

  test('that resumes before what it has acknowledged is answered with a reset', async () => {
    const wire = new LossyWire(limits);
    const { client, server } = wire.open(1);
    await client.write(Buffer.alloc(30));
    wire.deliverAll();
    for (let taken = 0; taken < 30; taken += (await server.read())?.length ?? 0);
    wire.deliverAll();
    client.attach(new FlowTable(limits), 10);
    await assert.rejects(client.read(), /cannot continue at 10, expected an offset from 30 to 30/);
  });

  test('that sends one byte at a time costs no more memory than its bytes', async () => {
    const table = new FlowTable({ windowBytes: 2 ** 20, frameBytes: 65_536, acknowledgeBytes: 2 ** 18 });
    const flow = table.open(1);
    const one = bytes('x');
    for (let offset = 0; offset < 2 ** 20; offset += 1) flow.received(offset, one);
    let chunks = 0;
    for (let taken = 0; taken < 2 ** 20; chunks += 1) taken += (await flow.read())?.length ?? 0;
    assert.equal(chunks, 256);
  });

  test('that repeats itself, sends nothing, or talks about unknown flows is ignored', async () => {
    const wire = new LossyWire(limits);
    const { server } = wire.open(1);
    const { server: table } = wire.tables;
    table.data(1, 0, bytes('abc'));
    table.data(1, 0, bytes('abcd'));
    table.data(1, 2, bytes('c'));
    table.data(1, 99, new Uint8Array(0));
    for (const id of [0, 2, -1]) {
      table.data(id, 0, bytes('x'));
      table.acknowledge(id, 5);
      table.end(id, 5);
      table.reset(id, 'x');
    }
    table.end(1, 4);
    table.end(1, 4);
    assert.equal(await text(server), 'abcd');
    assert.equal(table.size, 1);
  });
});

describe('flows over a wire that is cut at random', () => {
  guardAgainstLeaks();

  for (const lagsAt of [1, 3, Infinity]) {
    test(`deliver every byte once, with a wire that lags at ${lagsAt} messages`, async () => {
      for (let index = 0; index < 400; index += 1) await play(Random.forCase(16, index), lagsAt);
    });
  }

  test('deliver every byte once when the wire is cut after every single message', async () => {
    for (let cutAt = 0; cutAt < 120; cutAt += 1) {
      const wire = new LossyWire(limits);
      const { client, server } = wire.open(1);
      const [there, back] = [numbered(150), numbered(95)];
      const over = Promise.all([writeAll(client, there), writeAll(server, back), collect(server), collect(client)]);
      let steps = 0;
      const isOver = flagOf(over);
      while (!isOver() || wire.tables.client.size + wire.tables.server.size > 0) {
        if (steps === cutAt) wire.reconnect();
        wire.deliver(steps % 3 === 0 ? 'client' : 'server', 1);
        wire.deliver('client', steps > 300 ? Infinity : 0);
        await turn();
        assert.ok((steps += 1) < 2_000, `stuck after a cut at ${cutAt}`);
      }
      const [, , atServer, atClient] = await over;
      assert.deepEqual([atServer, atClient], [there, back]);
    }
  });
});

/** Two flows with random writes, reads, deliveries and cuts; then a quiet wire until everything is over. */
async function play(random: Random, lagsAt: number): Promise<void> {
  const wire = new LossyWire(limits, { lagsAt });
  const flows = [wire.open(1), wire.open(2)].flatMap(({ client, server }) => [
    { from: client, to: server, content: random.bytes(random.size(600)) },
    { from: server, to: client, content: random.bytes(random.size(600)) },
  ]);
  const over = Promise.all(
    flows.map(async ({ from, to, content }) => {
      const [received] = await Promise.all([collect(to), writeAll(from, content, () => random.whole(1, 40))]);
      assert.deepEqual(received, content);
    }),
  );
  const isOver = flagOf(over);
  for (let step = 0; !isOver() || wire.tables.client.size + wire.tables.server.size > 0; step += 1) {
    if (step < 300 && random.chance(0.1)) wire.reconnect();
    wire.deliver(random.pick(['client', 'server']), random.below(4));
    if (step > 300) wire.deliverAll();
    for (const { to } of flows) assert.ok(to.heldBytes <= 2 * (limits.windowBytes + limits.frameBytes));
    await turn();
    assert.ok(step < 5_000, 'stuck');
  }
  await over;
  assert.deepEqual([wire.tables.client.heldBytes, wire.tables.server.heldBytes], [0, 0]);
}

async function writeAll(flow: Flow, content: Uint8Array, size = () => 7): Promise<void> {
  for (let at = 0; at < content.length;) {
    const piece = content.subarray(at, at + size());
    await flow.write(piece);
    at += piece.length;
  }
  flow.end();
}

async function collect(flow: Flow): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of flow) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function text(flow: Flow): Promise<string> {
  return (await collect(flow)).toString('latin1');
}

function numbered(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, index) => index));
}

function flagOf(promise: Promise<unknown>): () => boolean {
  let isSettled = false;
  const note = () => void (isSettled = true);
  promise.then(note, note);
  return () => isSettled;
}

/** Delivers messages until the promise has settled or, without one, until nothing happens any more. */
async function settle(wire: LossyWire, promise?: Promise<unknown>): Promise<void> {
  const isSettled = promise === undefined ? () => false : flagOf(promise);
  for (let turns = 0; turns < (promise === undefined ? 20 : 5_000) && !isSettled(); turns += 1) {
    wire.deliverAll();
    await turn();
  }
}

/** Lets everything that waits for a promise continue. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
