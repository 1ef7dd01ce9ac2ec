// Promise 3 at the edge: what one caller may use, and what is refused, each with a code and a message that names the limit.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { memoryOf } from '../support/proc.js';
import { overUnixSocket, overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const start = (processId: string) => ({ processId, argv: ['sleep', '60'], env: { PATH: process.env['PATH'] ?? '' } });

async function metric(server: SluiceServer, name: string): Promise<number> {
  const url = await eventually(() => server.urls.find((each) => each.startsWith('ws:')) ?? assert.fail('no ws: address'));
  const text = await (await fetch(`${url.replace('ws:', 'http:')}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? assert.fail(`no ${name}`));
}

describe('limits', () => {
  guardAgainstLeaks();

  test('requests in flight: a request over the limit is refused, the others are answered', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-requests-in-flight', '3']);
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    resultOf(await peer.request('process/start', start('p')));
    const polls = [1, 2, 3].map(async () => peer.request('process/read', { processId: 'p', waitMs: 300 }));
    const refused = errorOf(await peer.request('environment/status'));
    assert.deepEqual([refused.code, refused.message.includes('3 requests')], [-32022, true]);
    for (const reply of await Promise.all(polls)) resultOf(reply);
    resultOf(await peer.request('environment/status'));
  });

  test('replies: they wait for a peer that does not read them, and the server’s memory does not grow', async () => {
    await using server = await SluiceServer.start('websocket');
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    const argv = ['sh', '-c', 'head -c 1000000 /dev/zero; sleep 60'];
    resultOf(await peer.request('process/start', { ...start('p'), argv }));
    await peer.find(() => peer.outputOf('p').length === 1_000_000, 'all output');
    peer.pause();
    const asked = 300;
    for (let id = 1; id <= asked; id += 1) peer.send(JSON.stringify({ id, method: 'process/read', params: { processId: 'p' } }));
    const queued = async () => metric(server, 'sluice_send_queued_bytes');
    let mostQueued = await settled(queued);
    peer.resume();
    // Nor are all the others queued as soon as the first replies have been read.
    for (let id = 1; id <= asked; id += 1) {
      mostQueued = Math.max(mostQueued, await queued());
      assert.ok((resultOf(await peer.reply(id))['chunks'] as unknown[]).length > 0);
    }
    assert.ok(mostQueued < 16 * 1024 * 1024, `${mostQueued} bytes`);
  });

  for (const [what, text] of [
    ['malformed messages', 'x'],
    ['refused requests', '{"id":1,"method":"nothing"}'],
  ] as const) {
    test(`${what}: the server stops reading from a peer that does not read, and its memory does not grow`, async () => {
      await using server = await SluiceServer.start('unix', ['--listen', 'ws://127.0.0.1:0']);
      const socket = connect(server.url.slice('unix://'.length));
      await once(socket, 'connect');
      const asked = 100_000;
      socket.write(`${text}\n`.repeat(asked)); // without reading the replies
      const queued = await settled(async () => metric(server, 'sluice_send_queued_bytes'));
      assert.ok(queued < 6 * 1024 * 1024, `${queued} bytes`);
      let answers = 0;
      createInterface(socket).on('line', () => (answers += 1));
      await eventually(() => assert.equal(answers, asked));
      socket.end();
      await once(socket, 'close');
    });
  }

  test('pings: a peer that does not read gets a pong for the latest, and the server’s memory does not grow', async () => {
    await using server = await SluiceServer.start('websocket');
    const socket = new WebSocket(server.url, { perMessageDeflate: false });
    await once(socket, 'open');
    let latest = 0;
    socket.on('pong', (payload: Buffer) => (latest = Number(payload.toString())));
    socket.pause();
    const asked = 100_000;
    for (let index = 1; index <= asked; index += 1) socket.ping(String(index).padStart(100));
    const queued = await settled(async () => metric(server, 'sluice_send_queued_bytes'));
    assert.ok(queued < 1024 * 1024, `${queued} bytes`);
    socket.resume();
    await eventually(() => assert.equal(latest, asked));
    socket.close();
    await once(socket, 'close');
  });

  test('sessions per caller: one over the limit is refused', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-sessions-per-token', '1']);
    await using first = await overWebSocket(server.url);
    await first.greet();
    await using second = await overWebSocket(server.url);
    const refused = errorOf(await second.request('initialize', { clientName: 'raw' }));
    assert.deepEqual([refused.code, refused.message.includes('1 sessions')], [-32023, true]);
  });

  test('processes per caller: one over the limit is refused, counted over all sessions', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-processes-per-token', '1']);
    await using first = await overWebSocket(server.url);
    await first.greet();
    resultOf(await first.request('process/start', start('p')));
    await using second = await overWebSocket(server.url);
    await second.greet();
    assert.equal(errorOf(await second.request('process/start', start('p'))).code, -32021);
  });

  test('connections: one over the limit gets 503', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-connections', '1']);
    await using first = await overWebSocket(server.url);
    await first.greet();
    await assert.rejects(overWebSocket(server.url), /503/);
  });

  test('message length: a longer message closes its connection, and no other', async () => {
    await using server = await SluiceServer.start('websocket', ['--max-message-bytes', '65536']);
    await using peer = await overWebSocket(server.url);
    await peer.greet();
    peer.send(JSON.stringify({ id: 1, method: 'environment/status', params: { padding: 'x'.repeat(70_000) } }));
    await peer.closed;
    await using other = await overWebSocket(server.url);
    await other.greet();
  });

  for (const [what, text] of [
    ['deep', '['.repeat(60_000_000)],
    ['wide', `{"id":1,"method":"nothing","params":["\\"",${'{},'.repeat(20_000_000)}0]}`],
  ] as const) {
    test(`values: a message as ${what} as its size allows is refused before it takes more memory than its bytes`, async () => {
      await using server = await SluiceServer.start('unix');
      await using peer = await overUnixSocket(server.url);
      peer.send(text);
      const { code, message } = errorOf(await peer.reply(-1));
      assert.equal(code, -32600);
      assert.match(message, what === 'deep' ? /nested deeper than 64 levels/ : /more than 262144 values/);
      const peakMiB = memoryOf(server.child.pid).peak / 1024 / 1024;
      assert.ok(peakMiB < 450, `${peakMiB} MiB`);
    });
  }

  test('values: a long message with few of them is parsed, even if its strings contain brackets', async () => {
    await using server = await SluiceServer.start('unix');
    await using peer = await overUnixSocket(server.url);
    const padding = '\\"[{,\\\\'.repeat(2_000_000);
    errorOf(await peer.requestAs('long', 'environment/status', { padding }));
    errorOf(
      await peer.requestAs(
        'many',
        'environment/status',
        Array.from({ length: 262_000 }, () => []),
      ),
    );
  });

  test('metadata: a message full of it is refused, and the server keeps working', async () => {
    await using server = await SluiceServer.start('unix');
    await using peer = await overUnixSocket(server.url);
    await peer.greet();
    const metadata = { notes: 'n'.repeat(60_000_000) };
    for (const processId of ['p', 'q', 'r']) {
      const { code, message } = errorOf(await peer.request('process/start', { ...start(processId), metadata }));
      assert.deepEqual([code, message], [-32602, 'metadata must be at most 65536 bytes, got 60000021']);
    }
    assert.deepEqual(resultOf(await peer.request('process/list')), { processes: [] });
  });

  for (const [member, method, params, problem] of [
    [
      'a name',
      'process/signal',
      { processId: 'p', signal: 'S'.repeat(257) },
      `signal: expected a string of at most 256 characters, got ${cut('S', 257)}`,
    ],
    [
      'the id of a session',
      'process/attach',
      { processId: 'p', sessionId: 's'.repeat(257) },
      `sessionId: expected a string of at most 256 characters, got ${cut('s', 257)}`,
    ],
    [
      'a path',
      'process/start',
      { ...start('p'), cwd: '/'.repeat(16_385) },
      `cwd: expected a string of at most 16384 characters, got ${cut('/', 16_385)}`,
    ],
    [
      'a list of globs',
      'process/start',
      { ...start('p'), envPolicy: { inherit: 'all', exclude: Array.from({ length: 1_025 }, () => 'A*') } },
      'envPolicy.exclude: expected a list of at most 1024 strings, got ["A*", "A*", "A*", …] (1025 items)',
    ],
    [
      'a glob',
      'process/start',
      { ...start('p'), envPolicy: { inherit: 'all', includeOnly: ['A'.repeat(257)] } },
      `envPolicy.includeOnly[0]: expected a string of at most 256 characters, got ${cut('A', 257)}`,
    ],
  ] as const) {
    test(`the length of ${member}: a longer one is refused`, async () => {
      await using server = await SluiceServer.start('unix');
      await using peer = await overUnixSocket(server.url);
      await peer.greet();
      const { code, message } = errorOf(await peer.request(method, params));
      assert.deepEqual([code, message], [-32602, problem]);
    });
  }

  test('kinds of command: a server may refuse direct ones, or prepared ones', async () => {
    const prepared = { program: '/bin/true', argv: ['true'], cwd: '/', env: {}, io: { kind: 'pipe', stdin: 'closed' } };
    for (const [flag, refused, allowed] of [
      ['--no-direct-exec', start('p'), { processId: 'q', prepared }],
      ['--no-prepared-exec', { processId: 'p', prepared }, start('q')],
    ] as const) {
      await using server = await SluiceServer.start('websocket', [flag]);
      await using peer = await overWebSocket(server.url);
      await peer.greet();
      assert.match(errorOf(await peer.request('process/start', refused)).message, /does not allow/);
      resultOf(await peer.request('process/start', allowed));
    }
  });
});

/** How an error shows a string of `length` times the same character. */
function cut(character: string, length: number): string {
  return `"${character.repeat(60)}…" (${length} characters)`;
}
