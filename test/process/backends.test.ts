// Differences between the backends that the contract tests do not see.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from '#src/base/clock.js';
import { connectInProcess } from '#src/index.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { readProcTable } from '#src/process/end/proc-table.js';
import { createBackend } from '#src/process/start/spawn.js';
import { Watchdog } from '#src/process/end/watchdog.js';
import { isExecError } from '#src/protocol/index.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { noTerminal } from '../support/terminal.js';

const env = { PATH: process.env['PATH'] ?? '' };

describe('a backend', () => {
  guardAgainstLeaks();

  test('is the requested one', { skip: noTerminal }, async () => {
    for (const name of ['linux', 'portable'] as const) {
      const backend = createBackend(name, { clock: systemClock, orphans: 'leave' });
      assert.equal(backend.name, name);
      await backend.close();
    }
  });

  test('in a worker thread is the portable one, because workers receive no SIGCHLD', async () => {
    const code = `const { parentPort, workerData } = require('node:worker_threads');
      import(workerData).then(async ({ createBackend }) => {
        const { systemClock } = await import(workerData.replace('process/start/spawn', 'base/clock'));
        const backend = createBackend('auto', { clock: systemClock, orphans: 'leave' });
        parentPort.postMessage(backend.name);
        await backend.close();
      });`;
    const worker = new Worker(code, { eval: true, workerData: import.meta.resolve('#src/process/start/spawn.js') });
    const ended = once(worker, 'exit');
    assert.deepEqual(await once(worker, 'message'), ['portable']);
    await ended;
  });

  for (const name of ['linux', 'portable'] as const) {
    test(
      `passes the longest argument and variable that Linux accepts, and refuses longer ones: ${name}`,
      { skip: noTerminal },
      async () => {
        await using client = connectInProcess({ backend: name });
        // With their NUL they have exactly the maximum length; the umlaut takes two bytes.
        const [argument, value] = [`${'x'.repeat(131_069)}ü`, 'x'.repeat(131_071 - 'LONG='.length)];
        const argv = ['sh', '-c', 'echo ${#1} ${#LONG}', 'sh', argument];
        const { stdout } = await client.run(argv, { env: { ...env, LC_ALL: 'C', LONG: value } });
        assert.equal(stdout.text, '131071 131066\n');
        const tooLong = (error: unknown) =>
          isExecError(error, 'spawnFailed') &&
          error.message.includes('a string of 131072 bytes; the kernel accepts at most 131071');
        await assert.rejects(client.run([...argv, `${argument}x`], { env }), tooLong);
        await assert.rejects(client.run(['true'], { env: { ...env, LONG: `${value}x` } }), tooLong);
      },
    );

    test(
      `sets a terminal's size in characters, and leaves the unknown size in pixels at zero: ${name}`,
      { skip: noTerminal },
      async () => {
        await using client = connectInProcess({ backend: name });
        await using child = await client.start({ argv: ['sleep', '60'], env, io: { kind: 'pty', rows: 30, cols: 100 } });
        const first = await eventually(() => sizeOfTerminal(child.pid)); // a forked child gets its terminal a moment later
        await child.resize({ rows: 40, cols: 120 });
        assert.deepEqual(
          [first, sizeOfTerminal(child.pid)],
          [
            [30, 100, 0, 0],
            [40, 120, 0, 0],
          ],
        );
      },
    );
  }

  test('without marks passes only groups that have not ended to a replacement watchdog', async () => {
    await using client = connectInProcess({ backend: 'portable' });
    await client.run(['true'], { env });
    await using child = await client.start({ argv: ['sleep', '60'], env });
    const [first] = await watchdogs();
    assert.ok(first);
    process.kill(first.pid, 'SIGKILL');
    await eventually(async () => {
      const [second] = await watchdogs();
      assert.ok(second && second.pid !== first.pid);
      assert.equal(second.groups, String(child.pid));
    });
  });

  test('whose watchdog was killed replaces it before starting another child, without waiting for the restart timer', async () => {
    const clock = new FakeClock();
    const watchdog = new Watchdog({ kind: 'groups' }, clock);
    watchdog.start();
    const [first] = await watchdogs();
    assert.ok(first);
    process.kill(first.pid, 'SIGKILL');
    await eventually(() => assert.deepEqual(clock.pendingMs, [50])); // the watchdog has noticed the exit
    watchdog.start();
    const [live, pendingMs] = [await watchdogs(), clock.pendingMs];
    await watchdog.close('gone');
    assert.deepEqual([live.length, pendingMs], [1, []]);
  });
});

for (const name of ['linux', 'portable'] as const) {
  describe(`a watchdog of the ${name} backend`, { skip: noTerminal }, () => {
    guardAgainstLeaks();

    test('that is stopped is replaced, since it would not notice the end of the program', async () => {
      await using client = connectInProcess({ backend: name });
      await using _ = await client.start({ argv: ['sleep', '60'], env });
      const [first] = await watchdogs();
      assert.ok(first);
      process.kill(first.pid, 'SIGSTOP');
      await eventually(async () => {
        const [second, ...others] = await watchdogs();
        assert.ok(second && second.pid !== first.pid);
        assert.deepEqual(others, []);
      });
    });
  });
}

/** Live watchdogs of this program, with the groups they were started with. */
async function watchdogs(): Promise<{ pid: number; groups: string | undefined }[]> {
  const { entries } = await readProcTable();
  return entries
    .filter(({ ppid, isZombie }) => ppid === process.pid && !isZombie)
    .map(({ pid }) => ({ pid, words: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') }))
    .filter(({ words }) => words.includes('sluice-watchdog'))
    .map(({ pid, words }) => ({ pid, groups: words.at(-2) }));
}

const TIOCGWINSZ = 0x5413;

/** Rows, columns, and width and height in pixels of the terminal on a process's stdin. */
function sizeOfTerminal(pid: number): number[] {
  const fd = openSync(`/proc/${pid}/fd/0`, constants.O_RDWR | constants.O_NOCTTY);
  const size = Buffer.alloc(8);
  const result = loadLibc()?.ioctl(fd, TIOCGWINSZ, 'void *', size);
  closeSync(fd);
  assert.equal(result, 0);
  return [0, 2, 4, 6].map((at) => size.readUInt16LE(at));
}
