// Promise 2: honest endings.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import type { Client, StartOptions } from '#src/client/index.js';
import { type Connector, bothKinds, closedPipe, env, shell, terminal } from './connector.js';

export function honestEndings(connector: Connector): void {
  describe('honest endings', () => {
    for (const [kind, io] of bothKinds) {
      test(`an exit code is reported unchanged on ${kind}`, async () => {
        await using client = await connector.connect();
        for (const code of [0, 1, 7, 255]) {
          await using child = await client.start({ ...shell(`exit ${code}`), io });
          const ending = await child.exit;
          assert.deepEqual([ending.kind, ending.kind === 'code' && ending.code, ending.reason], ['code', code, 'exited']);
          assert.ok(ending.startedAt <= ending.endedAt);
        }
      });

      test(`the ending of a process killed by a signal names the signal on ${kind}`, async () => {
        await using client = await connector.connect();
        for (const signal of ['SIGKILL', 'SIGTERM', 'SIGSEGV']) {
          await using child = await client.start({ ...shell(`kill -s ${signal.slice(3)} $$`), io });
          const ending = await child.exit;
          assert.deepEqual([ending.kind, ending.kind === 'signal' && ending.signal], ['signal', signal]);
        }
      });

      test(`a process that runs too long ends with timedOut on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('echo begun; sleep 60'), io, timeoutMs: 200 });
        assert.equal((await child.closed).reason, 'timedOut');
      });

      test(`a process that is silent for too long ends with idleTimedOut on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('echo begun; sleep 60'), io, idleTimeoutMs: 200 });
        assert.equal((await child.closed).reason, 'idleTimedOut');
      });

      test(`a terminated process ends with terminated on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('sleep 60'), io });
        await child.terminate();
        const ending = await child.closed;
        assert.deepEqual([ending.reason, ending.kind === 'signal' && ending.signal], ['terminated', 'SIGTERM']);
      });
    }

    test('a process that keeps printing is not idle', async () => {
      await using client = await connector.connect();
      const script = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.3; done';
      const { ending } = await client.run(['sh', '-c', script], { cwd: '/', env, idleTimeoutMs: 2_000 });
      assert.deepEqual([ending.kind === 'code' && ending.code, ending.reason], [0, 'exited']);
    });

    test('stdoutEnded distinguishes a process that closes its stdout and keeps running from one that has ended', async () => {
      await using client = await connector.connect();
      await using running = await client.start(shell('echo last; exec >&-; exec sleep 60'));
      assert.equal(await running.stdoutEnded, 'running');
      assert.equal((await client.list())[0]?.state, 'running');
      await using onTerminal = await client.start({ ...shell('exec >&-; exit 3'), io: terminal });
      assert.equal(await onTerminal.stdoutEnded, 'ended');
    });

    test('a grandchild that keeps stdout open delays the close, not the exit', async () => {
      await using client = await connector.connect();
      const go = join(mkdtempSync(join(tmpdir(), 'sluice-')), 'go');
      await using child = await client.start(shell(`(while [ ! -e ${go} ]; do echo waiting; sleep 0.02; done) & echo early`));
      const ending = await child.exit;
      assert.equal(ending.kind === 'code' && ending.code, 0);
      assert.equal((await client.list())[0]?.state, 'exited');
      writeFileSync(go, '');
      await child.closed;
      rmSync(dirname(go), { recursive: true });
      assert.equal((await client.list())[0]?.state, 'closed');
    });

    test('output that a grandchild writes after the exit is kept', async () => {
      await using client = await connector.connect();
      const result = await client.run(['sh', '-c', '(sleep 0.3; echo late) & echo early'], { cwd: '/', env });
      assert.equal(result.stdout.text, 'early\nlate\n');
    });

    test('a silent grandchild is not awaited for ever, and a printing one no longer than the limit', async () => {
      await using client = await connector.connect({ limits: { drainQuietMs: 200, drainLimitMs: 1_000 } });
      const silent = await client.run(['sh', '-c', 'sleep 60 & echo done'], { cwd: '/', env });
      assert.equal(silent.stdout.text, 'done\n');
      const talking = await client.run(['sh', '-c', 'while :; do echo more; sleep 0.05; done & echo done'], { cwd: '/', env });
      assert.equal(talking.ending.kind === 'code' && talking.ending.code, 0);
    });

    if (connector.backend === 'linux') {
      // child_process does not report this.
      test('an ending contains the resources that the process used', async () => {
        await using client = await connector.connect();
        const { ending } = await client.run(['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'], { cwd: '/', env });
        assert.ok(ending.kind === 'code' && ending.resources !== undefined && ending.resources.userMs > 0);
      });
    }

    spawnFailures(connector);

    test(
      'attaching to a closed process after its last number ends at once; after a later number it is refused',
      { timeout: 20_000 },
      async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('echo over'), id: 'over' });
        for await (const _ of child.output);
        const lastSeq = (await child.read()).nextSeq - 1;
        await assert.rejects(
          client.attach('over', { afterSeq: lastSeq + 1 }),
          (error) => isExecError(error, 'invalidParams') && error.message.includes(`at most ${lastSeq}`),
        );
        await using late = await client.attach('over', { afterSeq: lastSeq });
        for await (const _ of late.output) assert.fail('something after the end');
        assert.equal((await late.exit).kind, 'code');
      },
    );
  });
}

function spawnFailures(connector: Connector): void {
  describe('a command that cannot run', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      writeFileSync(join(folder, 'plain'), 'not a program');
      writeFileSync(join(folder, 'binary'), Buffer.from([0x7f, 0, 1, 2, 3]));
      writeFileSync(join(folder, 'orphaned'), '#!/no/such/interpreter\n');
      chmodSync(join(folder, 'binary'), 0o755);
      chmodSync(join(folder, 'orphaned'), 0o755);
      mkdirSync(join(folder, 'bin'));
    });
    after(() => rmSync(folder, { recursive: true }));

    const cases: [string, string, (folder: string) => StartOptions][] = [
      ['a program that is not in PATH', 'programNotFound', () => ({ argv: ['no-such-program'] })],
      ['a path that does not exist', 'programNotFound', (at) => ({ argv: [join(at, 'missing')] })],
      ['a script whose interpreter is missing', 'programNotFound', (at) => ({ argv: [join(at, 'orphaned')] })],
      ['a file without execute permission', 'notExecutable', (at) => ({ argv: [join(at, 'plain')] })],
      ['a folder', 'notExecutable', (at) => ({ argv: [join(at, 'bin')] })],
      ['a folder that does not exist', 'cwdNotFound', (at) => ({ argv: ['true'], cwd: join(at, 'missing') })],
      ['a file as the folder', 'cwdNotDirectory', (at) => ({ argv: ['true'], cwd: join(at, 'plain') })],
      ['a NUL byte in an argument', 'badArgument', () => ({ argv: ['echo', 'a\0b'] })],
      ['a NUL byte in the environment', 'badArgument', () => ({ argv: ['true'], env: { ...env, BAD: '\0' } })],
      ['a variable name with an equals sign', 'badArgument', () => ({ argv: ['true'], env: { ...env, 'A=B': 'c' } })],
      ['an argument longer than the kernel allows', 'badArgument', () => ({ argv: ['echo', 'x'.repeat(200_000)] })],
    ];
    for (const [what, failure, options] of cases) {
      for (const [kind, io] of bothKinds) {
        test(`${what} is ${failure} on ${kind}, and the id is free again`, async () => {
          await using client = await connector.connect();
          const id = 'taken-once';
          const error = await rejection(client, { cwd: folder, env, io, id, ...options(folder) });
          assert.ok(isExecError(error, 'spawnFailed'), String(error));
          assert.equal(error.data.failure, failure, error.message);
          await using child = await client.start({ ...shell('exit 0'), io, id });
          assert.equal((await child.exit).kind, 'code');
        });
      }
    }

    if (connector.backend === 'linux') {
      // child_process passes it to a shell, as execvp does.
      test('a binary that the machine cannot execute is notExecutable', async () => {
        await using client = await connector.connect();
        const error = await rejection(client, { argv: [join(folder, 'binary')], cwd: folder, env });
        assert.ok(isExecError(error, 'spawnFailed') && error.data.failure === 'notExecutable', String(error));
      });
    }

    test('a script without an interpreter line is run by a shell', async () => {
      const script = join(folder, 'bare-script');
      writeFileSync(script, `echo "ran with $1"; tr '\\0' ' ' </proc/$$/cmdline\n`, { mode: 0o755 });
      await using client = await connector.connect();
      const { stdout } = await client.run([script, 'this'], { cwd: folder, env });
      // A multi-call binary such as BusyBox is a shell only under the name of one.
      assert.match(stdout.text, /^ran with this\n(\/bin\/)?sh \/.*\/bare-script this $/);
    });

    test('an id in use is refused until its process is forgotten', async () => {
      await using client = await connector.connect();
      await using _first = await client.start({ ...shell('sleep 60'), io: terminal, id: 'same' });
      const error = await rejection(client, { ...shell('exit 0'), id: 'same' });
      assert.ok(isExecError(error, 'processExists'), String(error));
    });

    test('an empty argv is refused', async () => {
      await using client = await connector.connect();
      const error = await rejection(client, { argv: [], io: closedPipe });
      assert.ok(isExecError(error, 'invalidParams'), String(error));
    });
  });
}

async function rejection(client: Client, options: StartOptions): Promise<unknown> {
  try {
    await using child = await client.start(options);
    return new Error(`started as ${child.pid}`);
  } catch (error) {
    return error;
  }
}
