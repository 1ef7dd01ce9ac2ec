// One stream of all events of a client's processes, in-process and over the wire, and the notifications about starts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, type ClientEvent, connect, connectInProcess } from '#src/index.js';
import { env } from '../contract/connector.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const connectors: Readonly<Record<string, () => Promise<{ client: Client } & AsyncDisposable>>> = {
  'in-process': async () => {
    const client = connectInProcess();
    return { client, [Symbol.asyncDispose]: () => client.close() };
  },
  'over a WebSocket': async () => {
    const server = await SluiceServer.start('websocket');
    const client = await connect(server.url);
    return {
      client,
      [Symbol.asyncDispose]: async () => {
        await client.close();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** Collects events until this many processes have closed or failed to start. */
async function untilClosed(events: AsyncIterable<ClientEvent>, processes: number): Promise<ClientEvent[]> {
  const seen: ClientEvent[] = [];
  let ended = 0;
  for await (const event of events) {
    seen.push(event);
    if (event.type === 'closed' || event.type === 'failed') ended += 1;
    if (ended === processes) break;
  }
  return seen;
}

function typesOf(events: readonly ClientEvent[], processId: string): string[] {
  return events.flatMap((event) => (event.type !== 'gap' && event.processId === processId ? [event.type] : []));
}

function keptBytes(event: ClientEvent): number {
  return event.type === 'output' ? event.chunk.length : 0;
}

function missedBytes(event: ClientEvent): number {
  if (event.type === 'gap') return event.missedBytes;
  return 'droppedBytes' in event ? (event.droppedBytes ?? 0) : 0;
}

for (const [where, open] of Object.entries(connectors)) {
  describe(`the events of all processes, ${where}`, () => {
    guardAgainstLeaks();

    test('begin with the start of each process and end with `closed`, or are a single `failed`', async () => {
      await using opened = await open();
      const reading = untilClosed(opened.client.events(), 3);
      const [one, two] = await Promise.all(
        ['one', 'two'].map(async (id) => opened.client.start({ id, argv: ['sh', '-c', `echo ${id}; exit 3`], env })),
      );
      await assert.rejects(opened.client.start({ id: 'none', argv: ['no-such-program'], env }));
      const seen = await reading;
      for (const handle of [one, two]) {
        assert.deepEqual(typesOf(seen, handle?.id ?? ''), ['started', 'output', 'exited', 'closed']);
      }
      const pids = seen.flatMap((event) => (event.type === 'started' ? [event.pid] : []));
      assert.deepEqual(new Set(pids), new Set([one?.pid, two?.pid]));
      const [failed] = seen.filter((event) => event.type === 'failed');
      assert.ok(failed?.type === 'failed' && failed.failure === 'programNotFound', JSON.stringify(failed));
      assert.match(failed.problem, /no-such-program/);
    });

    test('do not take output from the handles, and still carry it when a handle ignores it', async () => {
      await using opened = await open();
      const events = opened.client.events();
      const { stdout } = await opened.client.run(['echo', 'both'], { env });
      assert.equal(stdout.text, 'both\n');
      const child = await opened.client.start({ argv: ['head', '-c', '3000000', '/dev/zero'], env });
      child.ignoreOutput();
      let bytes = 0;
      for await (const event of events) {
        if (event.type === 'gap' || event.processId === child.id) bytes += keptBytes(event) + missedBytes(event);
        if (event.type === 'closed' && event.processId === child.id) break;
      }
      assert.equal(bytes, 3_000_000);
      assert.equal((await child.closed).kind, 'code');
    });

    test('are dropped for a slow reader, output first, and reported as a gap; the process continues', async () => {
      await using opened = await open();
      const events = opened.client.events({ maxBytes: 100_000 });
      const { stdout } = await opened.client.run(['sh', '-c', 'head -c 2000000 /dev/zero; sleep 0.1; echo end'], { env });
      assert.equal(stdout.bytes.length, 2_000_004);
      const seen = await untilClosed(events, 1);
      const types = seen.map(({ type }) => type);
      assert.equal(types[0], 'started');
      assert.ok(types.includes('gap'), types.join());
      assert.deepEqual(types.slice(-2), ['exited', 'closed']);
      const kept = seen.reduce((sum, event) => sum + keptBytes(event), 0);
      const missed = seen.reduce((sum, event) => sum + missedBytes(event), 0);
      assert.ok(kept <= 100_000, String(kept));
      assert.equal(kept + missed, 2_000_004);
    });

    test('end when the client closes, and when the reader returns', async () => {
      await using opened = await open();
      const left = opened.client.events();
      await left.return();
      assert.deepEqual(await left.next(), { done: true, value: undefined });
      const events = opened.client.events();
      const waiting = events.next();
      await opened.client.close();
      assert.deepEqual(await waiting, { done: true, value: undefined });
    });

    test('include processes that were already running, from that moment on', async () => {
      await using opened = await open();
      await using child = await opened.client.start({ argv: ['cat'], env, io: { kind: 'pipe', stdin: 'open' } });
      await child.write('before\n');
      await child.collectUntil({ text: 'before\n', deadlineMs: 20_000 });
      const reading = untilClosed(opened.client.events(), 1);
      await child.write('after\n');
      await child.closeStdin();
      const text = (await reading).map((event) => (event.type === 'output' ? Buffer.from(event.chunk).toString() : '')).join('');
      assert.equal(text, 'after\n');
    });
  });
}

describe('process/started and process/failed', () => {
  guardAgainstLeaks();

  const start = (processId: string, program: string) => ({ processId, argv: [program], cwd: '/', env });

  test('are sent only to a client that asks for them', async () => {
    await using server = await SluiceServer.start('websocket');
    for (const startEvents of [true, false]) {
      await using peer = await overWebSocket(server.url);
      const { capabilities } = resultOf(await peer.greet({ capabilities: { startEvents } }));
      assert.deepEqual(capabilities, { acks: false, binaryOutput: false, startEvents });
      await peer.request('process/start', start('p', 'true'));
      await peer.notification('process/closed', 'p');
      await peer.request('process/start', start('q', 'no-such-program'));
      await peer.request('process/start', start('p', 'true'));
      const received = peer.messages.flatMap(({ method, error }) => method ?? (error === undefined ? [] : 'error'));
      const events = [
        'process/started',
        'process/exited',
        'process/closed',
        'process/failed',
        'error',
        'process/failed',
        'error',
      ];
      assert.deepEqual(received, startEvents ? events : events.filter((method) => !/started|failed/.test(method)));
      if (!startEvents) continue;
      const [found, refused] = peer.messages.filter(({ method }) => method === 'process/failed').map(paramsOf);
      assert.deepEqual([found?.['processId'], found?.['failure']], ['q', 'programNotFound']);
      assert.deepEqual(refused, { processId: 'p', problem: 'process p already exists' });
    }
  });
});
