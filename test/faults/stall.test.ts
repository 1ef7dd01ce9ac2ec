// A server that stalls, stopped by a signal or blocked by its own work, is late and nothing worse: input that arrived during the stall
// counts, no client or process is taken for silent, dead or gone, and no byte is missing.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '#src/index.js';
import { env, openPipe, shell } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { overWebSocket } from '../support/raw-connections.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer } from '../support/sluice-server.js';

const misfortune = fileURLToPath(new URL('../fixtures/misfortune.js', import.meta.url));

/** How long the server stalls: longer than every limit in these tests. */
const stallMs = 1_300;

const stalls: readonly [string, (server: SluiceServer) => Promise<void>][] = [
  [
    'is stopped by a signal',
    async ({ child }) => {
      child.kill('SIGSTOP');
      await sleep(stallMs);
      child.kill('SIGCONT');
    },
  ],
  [
    'blocks its event loop',
    async ({ child }) => {
      child.kill('SIGUSR2');
      await sleep(stallMs);
    },
  ],
];

function startServer(flags: readonly string[] = []): Promise<SluiceServer> {
  const launch = { node: ['--import', misfortune], env: { MISFORTUNE: `stall ${stallMs}` } };
  return SluiceServer.start('websocket', flags, launch);
}

for (const [how, stall] of stalls) {
  describe(`while the server ${how}`, { concurrency: true }, () => {
    guardAgainstLeaks();

    test('a process that keeps printing is not idle, and all its output arrives', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const script = 'i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i; sleep 0.03; done';
      const running = client.run(['sh', '-c', script], { env, idleTimeoutMs: 1_000 });
      await eventually(async () => assert.equal((await client.list()).length, 1));
      await stall(server);
      const { stdout, ending } = await running;
      assert.equal(stdout.text, Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join(''));
      assert.deepEqual([ending.kind === 'code' && ending.code, ending.reason], [0, 'exited']);
    });

    test('processes keep running, and requests sent during the stall are served in order afterwards', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using child = await client.start({ ...shell('exec cat'), io: openPipe });
      await child.write('before ');
      const stalling = stall(server);
      const writes = ['a', 'b', 'c', 'd'].map(async (text) => child.write(text));
      await stalling;
      assert.deepEqual(await Promise.all(writes), ['accepted', 'accepted', 'accepted', 'accepted']);
      await child.closeStdin();
      let text = '';
      for await (const { bytes } of child.output) text += Buffer.from(bytes).toString();
      assert.equal(text, 'before abcd');
    });

    test('a client that reconnects in time keeps its session, although the grace period expires during the stall', async () => {
      await using server = await startServer(['--detach-grace-ms', '800']);
      const first = await overWebSocket(server.url);
      const sessionId = String(resultOf(await first.greet({ resumeSessionId: null }))['sessionId']);
      const started = resultOf(await first.request('process/start', { processId: 'p', ...shell('sleep 600'), tty: false }));
      await first[Symbol.asyncDispose]();
      await eventually(() => assert.match(server.log.at(-1) ?? '', /client gone/)); // the grace period has begun
      const stalling = stall(server);
      const second = await overWebSocket(server.url); // connects while the server stalls
      const resumed = second.greet({ resumeSessionId: sessionId });
      await stalling;
      assert.equal(String(resultOf(await resumed)['sessionId']), sessionId);
      assert.deepEqual(await living([Number(started['pid'])]), [Number(started['pid'])]);
      await second[Symbol.asyncDispose]();
    });

    test('time still counts: a process past its timeout ends, and so does a session without a client', async () => {
      await using server = await startServer(['--detach-grace-ms', '800']);
      const first = await overWebSocket(server.url);
      const sessionId = String(resultOf(await first.greet({ resumeSessionId: null }))['sessionId']);
      await first[Symbol.asyncDispose]();
      await using client = await connect(server.url);
      await using child = await client.start({ ...shell('sleep 600'), timeoutMs: 1_000 });
      await stall(server);
      assert.equal((await child.closed).reason, 'timedOut');
      await eventually(async () => assert.equal(await sessionCount(server), 1)); // the client's own
      await using second = await overWebSocket(server.url);
      const refused = errorOf(await second.request('initialize', { clientName: 'raw', resumeSessionId: sessionId }));
      assert.equal(refused.message, `unknown session id ${sessionId}`);
    });
  });
}

async function sessionCount({ url }: SluiceServer): Promise<number> {
  const metrics = await (await fetch(`${url.replace('ws:', 'http:')}/metrics`, { headers: { connection: 'close' } })).text();
  return Number(/^sluice_sessions (\d+)$/m.exec(metrics)?.[1]);
}
