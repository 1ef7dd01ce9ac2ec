// Processes that lose their parents are adopted by the server, which ends and reaps them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { childrenOfThread, readLinuxEntry } from '#src/process/end/proc-files.js';
import { env } from '../contract/connector.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer, program } from '../support/sluice-server.js';

const isLinux = loadLibc() !== undefined;

describe('a program whose children are orphaned at once', { skip: !isLinux }, () => {
  guardAgainstLeaks();

  test('piles up no zombies in the server and does not disturb other connections', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    await using other = await connect(server.url);
    const child = await client.start({ argv: ['sh', '-c', 'while :; do (true &); done'], env });
    const pid = server.child.pid ?? assert.fail('no server');
    const zombies = () => childrenOfThread(pid, pid).filter((each) => readLinuxEntry(each)?.isZombie === true).length;
    for (let round = 0; round < 50; round += 1) {
      const { stdout } = await other.run(['echo', String(round)], { env });
      assert.equal(stdout.text, `${round}\n`);
      // The server keeps catching up, so the number of zombies stays bounded.
      await eventually(() => assert.ok(zombies() < 20));
    }
    await child.terminate();
    await child.closed;
    await eventually(() => assert.equal(zombies(), 0));
  });
});

describe('a tree that is hard to follow', { skip: !isLinux }, () => {
  guardAgainstLeaks();

  /** A script, and how many pids its processes print. */
  const families = [
    ['a nested server with a process', `"$NODE" "$SLUICE" exec -- sh -c 'echo $$; exec sleep 600' & wait`, 1],
    [
      'a child that changed its limits and left its session',
      `prlimit --rttime=unlimited setsid sh -c 'echo $$; exec sleep 600' & wait`,
      1,
    ],
    [
      'orphans in its session that changed their limits',
      `(prlimit --rttime=unlimited sh -c 'echo $$; exec sleep 600' &); exec sleep 600`,
      1,
    ],
    ['a daemon with children', `(setsid sh -c 'sleep 600 & echo $!; echo $$; wait' &); exec sleep 600`, 2],
  ] as const;
  for (const [what, script, count] of families) {
    test(`is ended completely: ${what}`, async () => {
      await using server = await SluiceServer.start('unix');
      await using client = await connect(server.url);
      const variables = { ...env, NODE: process.execPath, SLUICE: program };
      await using child = await client.start({ argv: ['sh', '-c', script], env: variables });
      const pids: number[] = [];
      for await (const line of child.lines()) if (pids.push(Number(line.text)) === count) break;
      assert.ok(pids.every((pid) => readLinuxEntry(pid)?.isZombie === false));
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
      assert.deepEqual(
        pids.filter((pid) => readLinuxEntry(pid)?.isZombie === false),
        [],
      );
    });
  }

  test('leaves no zombie in the server even if the origin of an orphan is unknown', async () => {
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    const pid = server.child.pid ?? assert.fail('no server');
    await using _ = await client.start({ argv: ['sleep', '600'], env });
    const before = childrenOfThread(pid, pid);
    await client.run(['sh', '-c', 'prlimit --rttime=unlimited setsid sh -c "(true &) ; exit" '], { env });
    await eventually(() => assert.deepEqual(childrenOfThread(pid, pid), before));
  });
});
