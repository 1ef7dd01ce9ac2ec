// Promise 6 where it is hardest: the connection is cut after every single byte, in both directions, also during the handshake of a
// reconnecting client. Every byte of input and output arrives exactly once, and a start that was sent twice starts one process.

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

/** Handshakes and starts are cut at every 19th byte, or at every byte with SLUICE_LONG=1. Writes are always cut at every byte. */
const sampledStep = process.env['SLUICE_LONG'] === '1' ? 1 : 19;

/** Clients that share the work of one test. */
const clients = 12;

/** This many offsets in a row without a cut mean that the exchange is shorter than the offset. */
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
      test(`at every byte ${direction} of a write and its echo delivers each exactly once`, async (context) => {
        const cuts = await inTurns(1, (first, step) => writes(server, { direction, first, step, isGreeting: false }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts > 60, 'shorter than any message could be');
      });

      test(`at bytes ${direction} of a reconnecting handshake delivers each write and echo exactly once`, async (context) => {
        const cuts = await inTurns(sampledStep, (first, step) => writes(server, { direction, first, step, isGreeting: true }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts * sampledStep > 60, 'shorter than any handshake could be');
      });

      test(`at bytes ${direction} of a start and everything that follows starts one process`, async (context) => {
        const cuts = await inTurns(sampledStep, (first, step) => starts(server, { direction, first, step }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts * sampledStep > 60, 'shorter than any start could be');
      });

      test(`at bytes ${direction} of a release releases once, and the client gets the new session id`, async (context) => {
        const cuts = await inTurns(2, (first, step) => releases(server, { direction, first, step }));
        context.diagnostic(`${cuts} cuts`);
        assert.ok(cuts > 20, 'shorter than any release could be');
      });
    }
  });
}

/** Runs every `step`th offset, shared among the clients; returns the number of cuts made. */
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
    const wasCut = cutter.pending === 0;
    cutter.plan();
    return wasCut;
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
    const wasCut = cutter.pending === 0;
    cutter.plan();
    assert.deepEqual([stdout.text, stderr.text, ending.kind === 'code' && ending.code], ['out\n', 'err\n', 3]);
    return wasCut;
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
    const wasCut = cutter.pending === 0;
    cutter.plan();
    await using found = await direct.attach(child.id, { sessionId, role: 'drive' });
    await found.terminate({ forceAfterMs: 0 });
    assert.equal((await found.closed).kind, 'signal');
    return wasCut;
  });
}

/** Cuts at increasing offsets until they lie beyond the end of the exchange; returns the number of cuts made. */
async function cutAlong({ first, step }: Series, cutAt: (afterBytes: number) => Promise<boolean>): Promise<number> {
  let cuts = 0;
  let misses = 0;
  for (let afterBytes = first; misses < beyondTheEnd; afterBytes += step) {
    const wasCut = await cutAt(afterBytes);
    misses = wasCut ? 0 : misses + 1;
    if (wasCut) cuts += 1;
  }
  return cuts;
}
