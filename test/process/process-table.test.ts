// A session's processes end with the session.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '#src/base/clock.js';
import { ProcessTable } from '#src/process/process-table.js';
import { createBackend } from '#src/process/start/spawn.js';
import { asProcessId, isExecError } from '#src/protocol/index.js';
import { defaultLimits } from '#src/server/config.js';
import { closedPipe, env } from '../contract/connector.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('a table of processes that is being closed', () => {
  guardAgainstLeaks();

  test('refuses starts and moves from another table: a sandbox may become ready only after its client has disconnected', async () => {
    const backend = createBackend('auto', { clock: systemClock });
    const context = { backend, clock: systemClock, limits: defaultLimits, counter: { output() {}, dropped() {} } };
    const [table, other] = [new ProcessTable(context), new ProcessTable(context)];
    const spec = { program: { kind: 'lookup' }, argv: ['sleep', '60'], cwd: '/', env, io: closedPipe, arg0: undefined } as const;
    const none = { timeoutMs: undefined, idleTimeoutMs: undefined, forceAfterMs: 0, metadata: undefined };
    const start = (target: ProcessTable, id: string) => target.start({ id: asProcessId(id), spec, ...none });
    const isRefused = (error: unknown) => isExecError(error, 'sessionClosed');
    start(other, 'late');
    const closing = table.close('disconnected');
    assert.throws(() => start(table, 'later'), isRefused);
    assert.throws(() => other.moveTo(table, asProcessId('late')), isRefused);
    await closing;
    assert.throws(() => start(table, 'latest'), isRefused);
    assert.deepEqual([table.list(), other.list().map(({ state }) => state)], [[], ['running']]);
    await other.close('disconnected');
    await backend.close();
  });
});
