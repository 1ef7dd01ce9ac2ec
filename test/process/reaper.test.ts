// Reaping the children of a program that also has other children.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { type Libc, loadLibc } from '#src/process/linux/libc.js';
import { LinuxBackend } from '#src/process/linux/linux-backend.js';
import { findProgram } from '#src/process/start/spawn-failure.js';
import { closedPipe } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const libc = loadLibc();
const env = { PATH: process.env['PATH'] ?? '' };

describe('a child that other code in the program has reaped', { skip: libc === undefined }, () => {
  guardAgainstLeaks();

  test('is reported as lost: its ending is not made up, and it is not waited for forever', async () => {
    await using client = connectInProcess({ backend: 'linux' });
    await using child = await client.start({ argv: ['sleep', '60'], env });
    process.kill(child.pid, 'SIGKILL');
    assert.equal(libc?.wait4(child.pid, new Int32Array(1), 0, Buffer.alloc(256)), child.pid); // before the reaper gets a turn
    const { kind, reason } = await child.exit;
    assert.deepEqual({ kind, reason }, { kind: 'lost', reason: 'exited' });
    await child.closed;
  });
});

describe('a child that used more than a second of processor time', { skip: libc === undefined }, () => {
  guardAgainstLeaks();

  test('is reported with the whole seconds and the remainder', async () => {
    await using client = connectInProcess({ backend: 'linux' });
    const work = 'while (process.cpuUsage().user < 1_100_000); console.log(process.cpuUsage().user / 1_000)';
    const { ending, stdout } = await client.run([process.execPath, '-e', work], { env });
    const userMs = ending.kind === 'code' ? (ending.resources?.userMs ?? 0) : 0;
    const own = Number(stdout.text);
    assert.ok(own >= 1_100 && userMs >= own && userMs < own + 1_000, `${userMs} ms reported, ${own} ms measured by the child`);
  });
});

describe('the end of a child', { skip: libc === undefined }, () => {
  guardAgainstLeaks();

  test('is reaped without a call for each of the others', async () => {
    assert.ok(libc);
    const waitedFor: number[] = [];
    const counting: Libc = {
      ...libc,
      wait4(pid, ...rest) {
        waitedFor.push(pid);
        return libc.wait4(pid, ...rest);
      },
    };
    const backend = new LinuxBackend(counting, { clock: new FakeClock(), orphans: 'leave' }); // with which no sweep ever runs
    const exited: number[] = [];
    const command = { file: findProgram('sleep', '/', env.PATH), argv: ['sleep', '60'], cwd: '/', env, io: closedPipe };
    const start = () => {
      const { pid } = backend.spawn(command, { output() {}, streamEnded() {}, ended() {}, exited: () => void exited.push(pid) });
      return pid;
    };
    const pids = Array.from({ length: 5 }, start);
    for (const pid of pids) {
      process.kill(pid, 'SIGKILL');
      await eventually(() => assert.ok(exited.includes(pid)));
    }
    await backend.close();
    assert.deepEqual(waitedFor, pids);
  });
});
