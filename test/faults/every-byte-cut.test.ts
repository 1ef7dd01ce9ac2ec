// Promise 6 where it is hardest: the connection is cut after every single byte of what is said, in both directions, also of the greeting with
// which a client comes back. Every byte of input and output comes once, and a start that was sent twice starts once.

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Client, connect } from '#src/index.js';
import { env, openPipe, shell } from '../contract/connector.js';
import { ByteCutter, type Direction } from '../support/byte-cutter.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** SLUICE_LONG=1 cuts greetings and starts at every byte, too; otherwise they are cut at every so many. Messages are always cut at every byte. */
const sampledStep = process.env['SLUICE_LONG'] === '1' ? 1 : 19;

/** Clients that share the work of one test. */
const clients = 12;

/** After so many numbers of bytes in a row at which no cut fell, what is said is over. */
const beyondTheEnd = 4;

guardAgainstLeaks();

for (const kind of ['websocket', 'unix'] as const) {
  describe(`a ${kind} connection that is cut`, () => {
    let server: SluiceServer;
    before(async () => {
      server = await SluiceServer.start(kind);
    });
    after(async () => server[Symbol.asyncDispose]());

    for (const direction of ['toServer', 'toClient'] as const) {
      test(`at every byte ${direction} of a write and its echo: each comes once`, async (context) => {
        const cuts = await inTurns(1, (first, step) => writes(server, { direction, first, step, isGreeting: false }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts > 60, 'shorter than any message could be');
      });

      test(`at bytes ${direction} of the greeting with which a client comes back: each comes once`, async (context) => {
        const cuts = await inTurns(sampledStep, (first, step) => writes(server, { direction, first, step, isGreeting: true }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts * sampledStep > 60, 'shorter than any greeting could be');
      });

      test(`at bytes ${direction} of a start and all that comes of it: it is started once`, async (context) => {
        const cuts = await inTurns(sampledStep, (first, step) => starts(server, { direction, first, step }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts * sampledStep > 60, 'shorter than any start could be');
      });

      test(`at bytes ${direction} of a release: it is released once, and its client learns where to`, async (context) => {
        const cuts = await inTurns(2, (first, step) => releases(server, { direction, first, step }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts > 20, 'shorter than any release could be');
      });
    }
  });
}

/** Every `step`th number of bytes, shared among the clients; gives how many cuts fell. */
async function inTurns(step: number, run: (first: number, step: number) => Promise<number>): Promise<number> {
  const counts = await Promise.all(Array.from({ length: clients }, (_, index) => run(index * step, clients * step)));
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Series {
  readonly direction: Direction;
  readonly first: number;
  readonly step: number;
}

async function writes(server: SluiceServer, series: Series & { readonly isGreeting: boolean }): Promise<number> {
  await using cutter = await ByteCutter.open(server.url);
  await using client = await connect(cutter.url);
  await using child = await client.start({ ...shell('exec cat'), io: openPipe });
  let written = '';
  let seen = '';
  const reading = (async () => {
    for await (const { bytes } of child.output) seen += Buffer.from(bytes).toString();
  })();
  const cuts = await cutAlong(series, async (afterBytes) => {
    const line = `${series.direction} ${afterBytes};`;
    written += line;
    const { direction, isGreeting } = series;
    const cut = { direction, afterBytes };
    cutter.plan(...(isGreeting ? [{ direction, afterBytes: 0 }, cut] : [cut]));
    assert.equal(await child.write(line), 'accepted');
    await eventually(() => assert.equal(seen, written));
    const hasFallen = cutter.pending === 0;
    cutter.plan();
    return hasFallen;
  });
  await child.closeStdin();
  await reading;
  assert.equal(seen, written);
  assert.deepEqual([(await child.exit).kind, (await child.exit).outputComplete], ['code', true]);
  return cuts;
}

async function starts(server: SluiceServer, series: Series): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  const file = join(folder, 'starts');
  appendFileSync(file, '');
  await using cutter = await ByteCutter.open(server.url);
  await using client: Client = await connect(cutter.url);
  let expected = '';
  const cuts = await cutAlong(series, async (afterBytes) => {
    expected += `${afterBytes}\n`;
    cutter.plan({ direction: series.direction, afterBytes });
    const script = `echo ${afterBytes} >> ${file}; echo out; echo err >&2; exit 3`;
    const { stdout, stderr, ending } = await client.run(['sh', '-c', script], { env });
    const hasFallen = cutter.pending === 0;
    cutter.plan();
    assert.deepEqual([stdout.text, stderr.text, ending.kind === 'code' && ending.code], ['out\n', 'err\n', 3]);
    return hasFallen;
  });
  assert.equal(readFileSync(file, 'utf8'), expected);
  rmSync(folder, { recursive: true });
  return cuts;
}

async function releases(server: SluiceServer, series: Series): Promise<number> {
  await using cutter = await ByteCutter.open(server.url);
  await using client = await connect(cutter.url);
  await using direct = await connect(server.url);
  return await cutAlong(series, async (afterBytes) => {
    const child = await client.start({ ...shell('exec sleep 600'), id: `${series.direction}-${afterBytes}` });
    cutter.plan({ direction: series.direction, afterBytes });
    const { sessionId } = await child.release();
    const hasFallen = cutter.pending === 0;
    cutter.plan();
    await using found = await direct.attach(child.id, { sessionId, role: 'drive' });
    await found.terminate({ forceAfterMs: 0 });
    assert.equal((await found.closed).kind, 'signal');
    return hasFallen;
  });
}

/** Goes on until no cut falls any more; gives how many fell. */
async function cutAlong({ first, step }: Series, cutAt: (afterBytes: number) => Promise<boolean>): Promise<number> {
  let cuts = 0;
  let misses = 0;
  for (let afterBytes = first; misses < beyondTheEnd; afterBytes += step) {
    const hasFallen = await cutAt(afterBytes);
    misses = hasFallen ? 0 : misses + 1;
    if (hasFallen) cuts += 1;
  }
  return cuts;
}
