// Promise 5: nothing left behind.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Client, ProcessHandle } from '#src/client/index.js';
import { eventually } from '../support/eventually.js';
import { living } from '../support/processes.js';
import { type Connector, bothKinds, env, shell } from './connector.js';

/** Prints its pid, ignores SIGTERM, SIGHUP and SIGINT, and never exits. */
const deaf = `sh -c 'trap "" TERM HUP INT; echo pid $$; while :; do sleep 1; done'`;

/** Ways in which such a process leaves its group, its session or its parents. */
const families: readonly [string, string, ('linux' | 'portable')[]][] = [
  ['a child that ignores SIGTERM', `${deaf} & wait`, ['linux', 'portable']],
  ['a child in its own session', `setsid ${deaf} & wait`, ['linux', 'portable']],
  [
    'a grandchild in its own session',
    `sh -c "setsid ${deaf.replaceAll('$', '\\$').replaceAll('"', '\\"')} & wait" & wait`,
    ['linux', 'portable'],
  ],
  ['a daemon that left its session and its parents', `(setsid ${deaf} &); while :; do sleep 1; done`, ['linux']],
];

export function nothingLeftBehind(connector: Connector): void {
  describe('nothing left behind', () => {
    for (const [kind, io] of bothKinds) {
      for (const [what, script, backends] of families) {
        if (!backends.includes(connector.backend)) continue;
        test(`terminate ends ${what} on ${kind}`, async () => {
          await using client = await connector.connect();
          await using child = await client.start({ ...shell(script), io });
          const pids = await announcedPids(child);
          await child.terminate({ forceAfterMs: 100 });
          await child.closed;
          assert.deepEqual(await living([...pids, child.pid]), []);
        });
      }

      test(`terminate by force ends a process that ignores signals on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell(`exec ${deaf}`), io });
        await announcedPids(child);
        await child.terminate({ forceAfterMs: 0 });
        const ending = await child.closed;
        assert.deepEqual([ending.kind === 'signal' && ending.signal, ending.reason], ['SIGKILL', 'terminated']);
      });

      test(`terminate ends the remaining processes when the leader has already exited on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell(`trap "" HUP; ${deaf} & sleep 0.2`), io });
        const pids = await announcedPids(child);
        const ending = await child.exit;
        assert.equal(ending.reason, 'exited');
        await child.terminate({ forceAfterMs: 100 });
        await child.closed;
        assert.deepEqual(await living(pids), []);
      });
    }

    test('a process may exit on SIGTERM, and gets it only once', async () => {
      await using client = await connector.connect();
      const script = `n=0; trap 'n=$((n+1)); echo asked $n; sleep 0.3; exit 3' TERM; echo ready; while :; do sleep 0.05; done`;
      await using child = await client.start(shell(script));
      await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
      await child.terminate({ forceAfterMs: 20_000 });
      const asked: string[] = [];
      for await (const { text } of child.lines({ stream: 'stdout' })) asked.push(text);
      const ending = await child.exit;
      assert.deepEqual([asked, ending.kind === 'code' && ending.code, ending.reason], [['asked 1'], 3, 'terminated']);
    });

    test('a stopped process ends on terminate', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('kill -s STOP $$; exit 0'));
      await child.terminate({ forceAfterMs: 20_000 });
      const ending = await child.closed;
      assert.equal(ending.kind === 'signal' && ending.signal, 'SIGTERM');
    });

    test('leaving the scope of a handle ends its process', async () => {
      await using client = await connector.connect();
      let pid = 0;
      {
        await using child = await client.start(shell('sleep 60'));
        pid = child.pid;
        assert.deepEqual(await living([pid]), [pid]);
      }
      assert.deepEqual(await living([pid]), []);
    });

    test('closing a handle ends its process, and closing it again does nothing', async () => {
      await using client = await connector.connect();
      const child = await client.start(shell('sleep 60'));
      await child.close();
      assert.deepEqual(await living([child.pid]), []);
      await child.close();
    });

    test('closing the client ends every process, even if its output is not read or it ignores signals', async () => {
      await using client = await connector.connect();
      const pids: number[] = [];
      for (const [, io] of bothKinds) {
        const child = await client.start({ ...shell(`${deaf} & exec ${deaf}`), io });
        pids.push(child.pid, ...(await announcedPids(child, 2)));
        pids.push((await client.start({ ...shell('yes'), io })).pid);
      }
      await client.close();
      assert.deepEqual(await living(pids), []);
    });

    test('closing the client gives each process the grace it was started with', async () => {
      // The server's default would be too short.
      await using client = await connector.connect({ limits: { forceAfterMs: 1 } });
      const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      try {
        const files = [join(folder, 'first'), join(folder, 'second')];
        for (const file of files) {
          const argv = [
            'sh',
            '-c',
            'trap "sleep 0.3; echo done > $1; exit" TERM; echo up; while :; do sleep 0.05; done',
            'sh',
            file,
          ];
          const child = await client.start({ argv, env, forceAfterMs: 60_000 });
          await child.collectUntil({ deadlineMs: 20_000, text: 'up' });
        }
        await client.close();
        assert.deepEqual(
          files.map((file) => existsSync(file)),
          [true, true],
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    if (connector.backend === 'linux') {
      test('closing the client ends a daemon whose process has exited and was forgotten', async () => {
        await using client = await connector.connect({ limits: { keepClosedMs: 0 } });
        const pids = await leftBehind(client);
        await eventually(async () => assert.deepEqual(await client.list(), []));
        assert.deepEqual(await living(pids), pids);
        await client.close();
        assert.deepEqual(await living(pids), []);
      });
    }

    test('nothing can be started once the client is closed', async () => {
      await using client = await connector.connect();
      await client.close();
      await assert.rejects(client.start(shell('true')));
    });

    test('a run that is aborted ends its tree', async () => {
      await using client = await connector.connect();
      const controller = new AbortController();
      const running = client.run(['sh', '-c', 'sleep 60'], { cwd: '/', signal: controller.signal });
      await eventually(async () => assert.equal((await client.list()).length, 1));
      controller.abort();
      assert.equal((await running).ending.reason, 'terminated');
    });
  });
}

/** Reads the pids that such processes print. */
async function announcedPids(child: ProcessHandle, count = 1): Promise<number[]> {
  const pids: number[] = [];
  let text = '';
  while (pids.length < count) {
    const collected = await child.collectUntil({ deadlineMs: 20_000, text: /pid \d+\r?\n/ });
    text += collected.text;
    pids.splice(0, Infinity, ...Array.from(text.matchAll(/pid (\d+)\r?\n/g), ([, pid]) => Number(pid)));
    assert.ok(['text', 'exited'].includes(collected.reason) || pids.length >= count, `only ${JSON.stringify(text)}`);
  }
  return pids;
}

/** Starts a process that leaves a daemon behind and exits. */
async function leftBehind(client: Client): Promise<number[]> {
  await using child = await client.start(
    shell(`(setsid sh -c 'echo pid $$; exec >/dev/null 2>&1; while :; do sleep 1; done' &)`),
  );
  const pids = await announcedPids(child);
  await child.closed;
  return pids;
}
