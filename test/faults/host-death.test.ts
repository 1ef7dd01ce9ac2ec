// Promise 5, seen from outside: no process survives the program that hosts it, however that program ends.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { watchdogsOf } from '../support/proc.js';
import { identify, living } from '../support/processes.js';

const hostPath = fileURLToPath(new URL('../fixtures/host.js', import.meta.url));

for (const backend of ['linux', 'portable'] as const) {
  describe(`when the hosting program dies, ${backend} backend`, () => {
    guardAgainstLeaks();

    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      test(`by ${signal}, nothing it started survives`, async () => {
        const { host, pids } = await startHost(backend, 'wait');
        const processes = await identify(pids);
        assert.equal((await living(processes)).length, pids.length);
        host.kill(signal);
        await eventually(async () => assert.deepEqual(await living(processes), []));
      });
    }

    for (const ending of ['throw', 'exit'] as const) {
      test(`by ${ending === 'throw' ? 'an uncaught exception' : 'process.exit'}, nothing it started survives`, async () => {
        const { pids } = await startHost(backend, ending);
        await eventually(async () => assert.deepEqual(await living(pids), []));
      });
    }

    test('after its watchdog was killed and replaced, nothing it started survives', async () => {
      const { host, pids } = await startHost(backend, 'wait');
      const processes = await identify(pids);
      const [watchdog] = watchdogsOf(host.pid);
      process.kill(watchdog ?? assert.fail('no watchdog'), 'SIGKILL');
      await eventually(async () => {
        const [replacement] = watchdogsOf(host.pid);
        assert.ok(replacement !== undefined && replacement !== watchdog);
      });
      host.kill('SIGKILL');
      await eventually(async () => assert.deepEqual(await living(processes), []));
    });
  });
}

async function startHost(backend: string, ending: string): Promise<{ host: ChildProcess; pids: number[] }> {
  const host = spawn(process.execPath, [hostPath, backend, ending], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = (await once(createInterface(host.stdout), 'line')) as [string];
  return { host, pids: JSON.parse(line) as number[] };
}
