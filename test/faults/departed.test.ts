// Promise 3 over time: pending calls of disconnected clients, and processes forgotten long ago, cost the server nothing.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FuzzTarget } from '../fuzz/target.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overUnixSocket } from '../support/raw-connections.js';
import { resultOf } from '../support/raw-peer.js';

const env = { PATH: process.env['PATH'] ?? '' };

/** Far above the noise between two measurements of a server's memory. */
const noticeableMiB = 6;

async function assertLight(target: FuzzTarget, beforeMiB: number): Promise<void> {
  await eventually(async () => {
    const { liveMiB } = await target.belongings();
    assert.ok(liveMiB < beforeMiB + noticeableMiB, `${liveMiB} MiB, up from ${beforeMiB} MiB`);
  });
}

describe('a server keeps nothing', () => {
  guardAgainstLeaks();

  for (const [method, more] of [
    ['process/wait', {}],
    ['process/read', { afterSeq: 9, waitMs: 100_000_000 }],
  ] as const) {
    test(`for clients that disconnected while a ${method} was pending on a running process`, async () => {
      await using target = await FuzzTarget.start();
      await using owner = await overUnixSocket(target.unixUrl);
      await owner.greet();
      const processId = 'p';
      resultOf(await owner.request('process/start', { processId, argv: ['sleep', '600'], env }));
      const { sessionId } = resultOf(await owner.request('process/release', { processId }));
      const { liveMiB } = await target.belongings();
      for (let round = 0; round < 10; round += 1) {
        await using peer = await overUnixSocket(target.unixUrl);
        await peer.greet();
        resultOf(await peer.request('process/attach', { processId, sessionId, follow: false }));
        for (let id = 0; id < 1_000; id += 1) peer.send(JSON.stringify({ id, method, params: { processId, ...more } }));
        await peer.request('environment/status');
      }
      await assertLight(target, liveMiB);
    });
  }

  test('of watched processes it has forgotten, while the watcher stays connected', async () => {
    await using target = await FuzzTarget.start();
    await using owner = await overUnixSocket(target.unixUrl);
    const { sessionId } = resultOf(await owner.greet());
    await using watcher = await overUnixSocket(target.unixUrl);
    await watcher.greet();
    const { liveMiB } = await target.belongings();
    for (let index = 0; index < 30; index += 1) {
      const processId = `p${index}`;
      resultOf(await owner.request('process/start', { processId, argv: ['head', '-c', '900000', '/dev/zero'], env }));
      resultOf(await watcher.request('process/attach', { processId, sessionId, follow: false }));
      await owner.notification('process/closed', processId);
    }
    await assertLight(target, liveMiB);
    assert.equal((await watcher.request('process/read', { processId: 'p0' }))['result'], undefined);
  });
});
