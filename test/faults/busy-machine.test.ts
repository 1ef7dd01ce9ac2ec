// Endings on a machine that runs much else: they cost what the tree has, end the whole tree, and name no stranger.

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

/** Idle processes that have nothing to do with an ending. */
const crowdSize = 500;

/** How often the work opened something in /proc. */
async function countingProc(work: () => Promise<unknown>): Promise<number> {
  let opened = 0;
  const count = (path: fs.PathLike) => void (String(path).startsWith('/proc') && (opened += 1));
  const { openSync, readdirSync } = fs;
  const changed: Partial<typeof fs> = {
    openSync: (path, ...rest) => (count(path), openSync(path, ...rest)),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of its overloads the sources use the plain one
    readdirSync: ((path: string) => (count(path), readdirSync(path))) as typeof readdirSync,
  };
  await withFs(changed, async () => void (await work()));
  return opened;
}

// A program adopts orphans for the rest of its life, so what is done without that comes first.
for (const orphans of ['leave', 'adopt'] as const) {
  describe('an ending beside many other processes', { skip: !isLinux }, () => {
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
      // How many looks an ending takes depends on how fast its processes die, so the cheapest of several counts.
      const cheapest = async () => {
        const counts: number[] = [];
        for (let round = 0; round < 5; round += 1) counts.push(await countingProc(endOne));
        return Math.min(...counts);
      };
      const alone = await cheapest();
      await using _ = await Crowd.idle(crowdSize);
      const beside = await cheapest();
      assert.ok(alone > 0, 'counts nothing');
      // A look at the crowd opens at least a file of each. Orphans of other programs come and go meanwhile, and are looked at where they go.
      assert.ok(beside < alone + crowdSize / 2, `${alone} files alone, ${beside} beside ${crowdSize} processes`);
    });
  });

  describe('endings beside processes that come and go', () => {
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
      test(`${count} of them name no stranger as a survivor, by the ${name} backend that would ${orphans} orphans`, async () => {
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
