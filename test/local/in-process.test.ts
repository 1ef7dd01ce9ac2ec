// What is different in-process: there is one session, and no process outlives the program.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectInProcess, isExecError, run } from '#src/index.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';

const env = { PATH: process.env['PATH'] ?? '' };

describe('a client in-process', () => {
  guardAgainstLeaks();

  test('attaches to its own process, and each of the two readers sees all output', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sh', '-c', 'echo seen twice; exit 3'], env, id: 'own' });
    await using joined = await client.attach('own');
    for (const handle of [started, joined]) {
      assert.equal((await handle.collectUntil({ deadlineMs: 20_000, text: 'twice' })).reason, 'text');
      const ending = await handle.exit;
      assert.equal(ending.kind === 'code' && ending.code, 3);
    }
  });

  test('ends a process whose input fails, and rejects with the reason, instead of waiting for the rest', async () => {
    await using client = connectInProcess();
    async function* broken(): AsyncGenerator<string> {
      yield 'the beginning';
      throw new Error('the source dried up');
    }
    await assert.rejects(client.run(['cat'], { env, input: broken() }), /the source dried up/);
  });

  test('controls a process without following it', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sleep', '600'], env, id: 'own' });
    await using joined = await client.attach('own', { follow: false });
    await joined.terminate({ forceAfterMs: 0 });
    assert.equal((await started.closed).reason, 'terminated');
  });

  test('refuses release and restart', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sleep', '600'], env });
    await assert.rejects(started.release(), /process\/release needs a server/);
    await assert.rejects(client.restart(started.id), /process\/restart needs a server/);
  });

  test('is bound by the limit of processes per caller', async () => {
    await using client = connectInProcess({ limits: { maxProcessesPerCaller: 1 } });
    await using _started = await client.start({ argv: ['sleep', '600'], env });
    await assert.rejects(client.start({ argv: ['true'], env }), (error) => isExecError(error, 'tooManyProcesses'));
    await assert.rejects(client.exec(['true'], { env }), (error) => isExecError(error, 'tooManyProcesses'));
  });

  test('closes after the longest grace, which is bounded, however many processes ignore SIGTERM', async () => {
    const clock = new FakeClock();
    const client = connectInProcess({ clock });
    const script = `trap '' TERM HUP; echo up; while :; do sleep 1; done`;
    const pids: number[] = [];
    for (const forceAfterMs of [3_000, 60_000, 60_000]) {
      const child = await client.start({ argv: ['sh', '-c', script], env, forceAfterMs });
      for await (const _ of child.output) break; // its trap is installed
      pids.push(child.pid);
    }
    let isClosed = false;
    const closing = client.close().then(() => (isClosed = true));
    await clock.advance(2_999);
    assert.deepEqual(await living(pids), pids);
    await clock.advance(1);
    await eventually(async () => assert.deepEqual(await living(pids), pids.slice(1)));
    await clock.advance(999);
    assert.deepEqual(await living(pids), pids.slice(1));
    await clock.advance(1);
    await eventually(async () => {
      await clock.advance(1);
      assert.deepEqual(await living(pids), []);
    });
    await eventually(async () => {
      await clock.advance(100);
      assert.ok(isClosed);
    });
    await closing;
  });

  test('is created for a single run and closed after it', async () => {
    const { ending, stdout } = await run(['cat'], { env, input: 'all in one' });
    assert.deepEqual([ending.kind, stdout.text], ['code', 'all in one']);
  });
});
