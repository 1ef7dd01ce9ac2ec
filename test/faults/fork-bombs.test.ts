// Programs that multiply, or keep replacing themselves by a child, faster than /proc can be scanned: every last process is ended before the
// server reports `closed`. Each program is bounded by `ulimit -u` and by its own counter, so that a failure here stays within this test.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { readProcTable } from '#src/process/end/proc-table.js';
import { bothKinds, env } from '../contract/connector.js';
import { eventually, settled } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Counts its generations in a file, starts itself as a background child, and exits. `launcher` is the prefix of that start. */
const runner = (limit: number, launcher: string) => `
ulimit -u 4096 2>/dev/null
n=$((n + 1)); export n
echo $n > "$FOLDER/next" && mv "$FOLDER/next" "$FOLDER/count"
[ $n -lt ${limit} ] && { ${launcher} sh "$0" & }
exit 0
`;

/** A binary tree of processes that keep running. Half of them leave their session. */
const tree = `
ulimit -u 4096 2>/dev/null
trap '' TERM HUP INT
if [ "$1" -gt 0 ]; then
  sh "$0" $(($1 - 1)) &
  setsid sh "$0" $(($1 - 1)) &
fi
echo >> "$FOLDER/born"
while :; do sleep 1; done
`;
const treeDepth = 5;
const treeSize = 2 ** (treeDepth + 1) - 1;

describe('a program that multiplies', { concurrency: true }, () => {
  guardAgainstLeaks();

  for (const [kind, io] of bothKinds) {
    test(`as a tree that ignores SIGTERM is ended completely, on ${kind}`, async () => {
      await using bomb = await Bomb.prepare(tree);
      await using server = await SluiceServer.start('unix');
      await using client = await connect(server.url);
      await using child = await client.start({ argv: ['sh', bomb.script, String(treeDepth)], env: bomb.env, io });
      await eventually(() => assert.equal(bomb.read('born').length, treeSize));
      assert.ok((await bomb.processes()).length >= treeSize);
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
      assert.deepEqual(await bomb.processes(), []);
    });
  }

  for (const [where, launcher] of [
    ['in its session', ''],
    ['in a new session each time', 'setsid'],
  ] as const) {
    test(`by replacing itself with a child, ${where}, is ended, and not reported closed before that`, async () => {
      await using bomb = await Bomb.prepare(runner(20_000, launcher));
      await using server = await SluiceServer.start('unix');
      await using client = await connect(server.url);
      await using child = await client.start({ argv: ['sh', '-c', `n=0 sh ${bomb.script}; sleep 600`], env: bomb.env });
      await eventually(() => assert.ok(bomb.count > 20));
      await child.terminate({ forceAfterMs: 0 });
      await child.closed;
      const { count } = bomb;
      assert.equal(await settled(() => bomb.count), count);
      assert.deepEqual(await bomb.processes(), []);
      assert.ok(count < 20_000, 'stopped at its own limit instead of being ended');
    });
  }
});

describe('a program that multiplies', () => {
  guardAgainstLeaks();

  test('by replacing itself with a child, in a new session each time, ends with a killed server', async () => {
    await using bomb = await Bomb.prepare(runner(20_000, 'setsid'));
    await using server = await SluiceServer.start('unix');
    await using client = await connect(server.url);
    await client.start({ argv: ['sh', '-c', `n=0 sh ${bomb.script}; sleep 600`], env: bomb.env });
    await eventually(() => assert.ok(bomb.count > 20));
    await server.stop('SIGKILL');
    await eventually(async () => {
      const { count } = bomb;
      assert.deepEqual([await bomb.processes(), await settled(() => bomb.count)], [[], count]);
      assert.ok(count < 20_000, 'stopped at its own limit instead of being ended');
    });
  });
});

/** A script in its own folder; its processes are recognised by the script's path in their command line. */
class Bomb implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  readonly script = join(this.folder, 'script');
  readonly env = { ...env, FOLDER: this.folder };

  static async prepare(script: string): Promise<Bomb> {
    const bomb = new Bomb();
    writeFileSync(bomb.script, script);
    return bomb;
  }

  read(name: string): string {
    try {
      return readFileSync(join(this.folder, name), 'utf8');
    } catch {
      return ''; // not there yet
    }
  }

  get count(): number {
    return Number(this.read('count'));
  }

  /** Pids of its running processes. */
  async processes(): Promise<number[]> {
    const { entries } = await readProcTable();
    return entries.filter(({ pid, isZombie }) => !isZombie && commandOf(pid).includes(this.script)).map(({ pid }) => pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return ''; // gone
  }
}
