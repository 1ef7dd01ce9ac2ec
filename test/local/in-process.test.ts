// What differs in-process: there is one session, and nothing outlives the program.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectInProcess, isExecError, run } from '#src/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const env = { PATH: process.env['PATH'] ?? '' };

describe('a client in-process', () => {
  guardAgainstLeaks();

  test('joins a process of its own a second time, and each reader sees all of it', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sh', '-c', 'echo seen twice; exit 3'], env, id: 'own' });
    await using joined = await client.attach('own');
    for (const handle of [started, joined]) {
      assert.equal((await handle.collectUntil({ deadlineMs: 20_000, text: 'twice' })).reason, 'text');
      const ending = await handle.exit;
      assert.equal(ending.kind === 'code' && ending.code, 3);
    }
  });

  test('steers a process without following it', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sleep', '600'], env, id: 'own' });
    await using joined = await client.attach('own', { follow: false });
    await joined.terminate({ forceAfterMs: 0 });
    assert.equal((await started.closed).reason, 'terminated');
  });

  test('releases nothing', async () => {
    await using client = connectInProcess();
    await using started = await client.start({ argv: ['sleep', '600'], env });
    await assert.rejects(started.release(), (error) => isExecError(error, 'methodNotFound'));
  });

  test('is there for one command and gone with it', async () => {
    const { ending, stdout } = await run(['cat'], { env, input: 'all in one' });
    assert.deepEqual([ending.kind, stdout.text], ['code', 'all in one']);
  });
});
