// Ending a process tree on a busy machine: the cost depends on the tree alone, and unrelated processes are never reported as survivors.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { systemClock } from '#src/base/clock.js';
import { connectInProcess } from '#src/index.js';
import { ProcessTable } from '#src/process/process-table.js';
import { type BackendName, createBackend } from '#src/process/start/spawn.js';
import { loadLibc } from '#src/process/linux/libc.js';
import { asProcessId } from '#src/protocol/index.js';
import { defaultLimits } from '#src/server/config.js';
import { closedPipe, env } from '../contract/connector.js';
import { Crowd } from '../support/crowd.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { withFs } from '../support/changed-fs.js';

const isLinux = loadLibc() !== undefined;

/** Idle processes unrelated to the one being ended. */
const crowdSize = 500;

/** Counts how often `work` opens something in /proc. */
async function countingProc(work: () => Promise<unknown>): Promise<number> {
  let opened = 0;
  const count = (path: fs.PathLike) => void (String(path).startsWith('/proc') && (opened += 1));
  const { openSync, readdirSync } = fs;
  const changed: Partial<typeof fs> = {
    openSync: (path, ...rest) => (count(path), openSync(path, ...rest)),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the sources use only the plain overload
    readdirSync: ((path: string) => (count(path), readdirSync(path))) as typeof readdirSync,
  };
  await withFs(changed, async () => void (await work()));
  return opened;
}

// Once a program adopts orphans it does so for the rest of its life, so the tests that leave orphans alone run first.
for (const orphans of ['leave', 'adopt'] as const) {
  describe('ending a process among many others', { skip: !isLinux }, () => {
    guardAgainstLeaks();

    test(`reads no more of /proc than on an empty machine, in a program that would ${orphans} orphans`, async () => {
      await using client = connectInProcess({ backend: 'linux', orphans });
      const endOne = async () => {
        await client.exec(['true'], { env });
        await using child = await client.start({ argv: ['sh', '-c', 'setsid sleep 60 & echo; wait'], env });
        for await (const _ of child.output) break;
        await child.terminate({ forceAfterMs: 5_000 });
        await child.closed;
      };
      await endOne();
      // How often an ending rescans /proc depends on how fast its processes die, so use the minimum of several runs.
      const cheapest = async () => {
        const counts: number[] = [];
        for (let round = 0; round < 5; round += 1) counts.push(await countingProc(endOne));
        return Math.min(...counts);
      };
      const alone = await cheapest();
      await using _ = await Crowd.idle(crowdSize);
      const crowded = await cheapest();
      assert.ok(alone > 0, 'counts nothing');
      // Scanning the crowd would open at least one file per process. Half of that leaves room for orphans of other programs, which are
      // inspected when they are adopted.
      assert.ok(crowded < alone + crowdSize / 2, `${alone} files alone, ${crowded} among ${crowdSize} processes`);
    });
  });

  describe('ending processes while others come and go', () => {
    guardAgainstLeaks();

    const ways: [BackendName, number][] =
      orphans === 'leave'
        ? [
            ['portable', 30],
            ['linux', 100],
          ]
        : [['linux', 1_000]];
    for (const [name, count] of ways) {
      if (name === 'linux' && !isLinux) continue;
      test(`reports no unrelated survivor in ${count} endings, ${name} backend, orphans: ${orphans}`, async () => {
        await using _ = await Crowd.churn(3);
        const backend = createBackend(name, { clock: systemClock, orphans });
        const counter = { output() {}, dropped() {} };
        const table = new ProcessTable({ backend, clock: systemClock, limits: defaultLimits, counter });
        const spec = {
          program: { kind: 'lookup' },
          argv: ['sleep', '60'],
          cwd: '/',
          env,
          io: closedPipe,
          arg0: undefined,
        } as const;
        const survivors: number[] = [];
        const rounds = 10;
        for (let round = 0; round < rounds; round += 1) {
          const started = Array.from({ length: count / rounds }, (__, index) =>
            table.start({
              id: asProcessId(`${round}-${index}`),
              spec,
              timeoutMs: undefined,
              idleTimeoutMs: undefined,
              forceAfterMs: undefined,
              metadata: undefined,
            }),
          );
          for (const each of started) each.terminate('terminated', 0);
          await Promise.all(started.map((each) => each.closed));
          for (const each of started) {
            const last = each.log.after(each.log.nextSeq - 2);
            assert.equal(last?.kind, 'closed');
            survivors.push(...last.survivors);
          }
        }
        await table.close('disconnected');
        await backend.close();
        assert.deepEqual(survivors, []);
      });
    }
  });
}
