// A waiting `process/read` between the exit of a process and the end of its output.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { overWebSocket } from '../support/raw-connections.js';
import { type RawPeer, paramsOf, resultOf } from '../support/raw-peer.js';
import { SluiceServer, limitFlags } from '../support/sluice-server.js';

const env = { PATH: process.env['PATH'] ?? '' };
/** Far longer than the test, so `closed` is sent only once the process is terminated. */
const patient = limitFlags({ drainQuietMs: 600_000, drainLimitMs: 600_000 });

describe('a long poll', () => {
  guardAgainstLeaks();

  test('on an exited process returns at once, although its output is still open', async () => {
    await using server = await SluiceServer.start('websocket', patient);
    await using peer = await overWebSocket(server.url);
    const seq = await exitedSeq(peer, 'sleep 600 & exit 3');
    for (const afterSeq of [seq, seq + 90]) {
      const page = resultOf(await peer.request('process/read', { processId: 'p', afterSeq, waitMs: 600_000 }));
      assert.deepEqual([page['chunks'], page['exited'], page['exitCode'], page['closed']], [[], true, 3, false]);
    }
    await peer.request('process/terminate', { processId: 'p', force: true });
    await peer.notification('process/closed', 'p');
  });

  test('until closed keeps waiting after the exit, for more output and for its end', async () => {
    await using server = await SluiceServer.start('websocket', patient);
    await using peer = await overWebSocket(server.url);
    const seq = await exitedSeq(peer, '(trap "echo late" USR1; while :; do sleep 0.05; done) & echo $!; exit 3');
    const pid = Number.parseInt(peer.outputOf('p'), 10);
    const poll = (afterSeq: number) =>
      peer.request('process/read', { processId: 'p', afterSeq, waitMs: 600_000, until: 'closed' });
    const late = poll(seq);
    process.kill(pid, 'SIGUSR1');
    const page = resultOf(await late);
    assert.deepEqual(page['chunks'], [{ seq: seq + 1, stream: 'stdout', chunk: 'bGF0ZQo=' }]);
    const last = poll(seq + 1);
    await peer.request('process/terminate', { processId: 'p', force: true });
    assert.deepEqual([resultOf(await last)['closed'], resultOf(await last)['chunks']], [true, []]);
  });
});

/** Runs the script as process `p` and returns the `seq` of its `process/exited`. */
async function exitedSeq(peer: RawPeer, script: string): Promise<number> {
  await peer.greet();
  resultOf(await peer.request('process/start', { processId: 'p', argv: ['sh', '-c', script], cwd: '/', env }));
  const { seq } = paramsOf(await peer.notification('process/exited', 'p'));
  return Number(seq);
}
