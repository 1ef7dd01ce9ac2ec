// Promise 4: control never waits, and input keeps its order.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isExecError } from '#src/protocol/index.js';
import { type Connector, bothKinds, closedPipe, env, openPipe, shell, terminal } from './connector.js';

const mib = 1024 * 1024;

export function controlNeverWaits(connector: Connector): void {
  describe('control never waits', () => {
    test('a child that never reads delays neither its own termination nor another process', async () => {
      await using client = await connector.connect();
      await using stuck = await client.start({ ...shell('sleep 60'), io: openPipe });
      const answers = Array.from({ length: 16 }, async () => stuck.write(new Uint8Array(mib - 1)));
      await using other = await client.start({ argv: ['cat'], cwd: '/', env, io: openPipe });
      await other.write('hello\n');
      assert.equal((await other.collectUntil({ deadlineMs: 20_000, text: 'hello\n' })).reason, 'text');
      assert.equal((await client.list()).length, 2);
      await stuck.terminate();
      assert.equal((await stuck.closed).reason, 'terminated');
      assert.equal((await Promise.all(answers)).at(-1), 'stdinClosed');
    });

    for (const [kind, io] of [
      ['a pipe', openPipe],
      ['a terminal', terminal],
    ] as const) {
      test(`5 MiB for a child that never reads use no CPU time on ${kind}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ ...shell('stty raw -echo 2>/dev/null; echo ready; sleep 60'), io });
        await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
        const answers = Array.from({ length: 5 }, async () => child.write(new Uint8Array(mib).fill(0x61)));
        await sleep(100); // the kernel has taken all it can
        const before = process.cpuUsage();
        const begun = process.hrtime.bigint();
        await sleep(1_000);
        const { user, system } = process.cpuUsage(before);
        const share = (user + system) / Number((process.hrtime.bigint() - begun) / 1_000n);
        assert.ok(share < 0.1, `${(share * 100).toFixed(1)} % of a core`);
        await child.terminate({ forceAfterMs: 0 });
        await child.closed;
        await Promise.all(answers);
      });
    }

    test('writes that are not awaited arrive in order', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ argv: ['cat'], cwd: '/', env, io: openPipe });
      const expected = Array.from({ length: 2_000 }, (_, index) => `${index}\n`);
      for (const line of expected) void child.write(line);
      void child.closeStdin();
      let seen = '';
      for await (const { bytes } of child.output) seen += Buffer.from(bytes).toString('latin1');
      assert.equal(seen, expected.join(''));
    });

    test('many megabytes of input arrive unchanged while the output is read', async () => {
      await using client = await connector.connect();
      const input = Buffer.alloc(20 * mib, 'every byte counts; ');
      const { stdout } = await client.run(['cat'], { cwd: '/', env, input, maxOutputBytes: 64 * mib });
      assert.equal(Buffer.from(stdout.bytes).equals(input), true);
    });

    test('a write retried with its id is written once', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ argv: ['cat'], cwd: '/', env, io: openPipe });
      await child.write('once\n', 'write-1');
      await child.write('once\n', 'write-1');
      await child.write('twice\n', 'write-2');
      await child.closeStdin();
      let seen = '';
      for await (const { bytes } of child.output) seen += Buffer.from(bytes).toString();
      assert.equal(seen, 'once\ntwice\n');
    });

    test('a process started with a closed stdin reads its end, and a write returns stdinClosed', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ argv: ['cat'], cwd: '/', env, io: closedPipe });
      assert.equal(await child.write('x'), 'stdinClosed');
      assert.equal((await child.exit).kind, 'code');
    });

    test('a write after the exit returns stdinClosed', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ ...shell('exit 0'), io: openPipe });
      await child.exit;
      assert.equal(await child.write('x'), 'stdinClosed');
    });

    test('a child that closes its stdin keeps running, and writes soon return stdinClosed', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ ...shell('exec <&-; echo closed; sleep 60'), io: openPipe });
      await child.collectUntil({ deadlineMs: 20_000, text: 'closed' });
      await child.write('x'); // only a write makes the kernel report the broken pipe
      while ((await child.write('x')) === 'accepted') await sleep(1);
      assert.equal((await client.list())[0]?.state, 'running');
    });

    test('a write after closeStdin returns stdinClosed', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ argv: ['cat'], cwd: '/', env, io: openPipe });
      await child.closeStdin();
      assert.equal(await child.write('x'), 'stdinClosed');
      await child.closed;
    });

    for (const [what, typed, echoed] of [
      ['at the start of a line', 'one\n', 'one\r\none\r\n'],
      ['in the middle of a line', 'half', 'halfhalf'],
    ] as const) {
      test(`closeStdin on a terminal ends its reader ${what}`, async () => {
        await using client = await connector.connect();
        await using child = await client.start({ argv: ['cat'], cwd: '/', env, io: terminal });
        await child.write(typed);
        await child.closeStdin();
        let seen = '';
        for await (const { bytes } of child.output) seen += Buffer.from(bytes).toString();
        assert.equal(seen.replaceAll('^D\b\b', ''), echoed);
        const ending = await child.exit;
        assert.equal(ending.kind === 'code' && ending.code, 0);
      });
    }

    test('a process gets a signal on resize and sees the new size', async () => {
      await using client = await connector.connect();
      const script = `trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done`;
      await using child = await client.start({ ...shell(script), io: { kind: 'pty', rows: 30, cols: 100 } });
      assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: '30 100' })).reason, 'text');
      await child.resize({ rows: 50, cols: 132 });
      assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: '50 132' })).reason, 'text');
    });

    test('pipes cannot be resized', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('sleep 60'));
      const error = await child.resize({ rows: 1, cols: 1 }).catch((thrown: unknown) => thrown);
      assert.ok(isExecError(error, 'notATerminal'), String(error));
    });

    for (const [kind, io] of bothKinds) {
      test(`a signal reaches every process of the group on ${kind}`, async () => {
        await using client = await connector.connect();
        const member = `sh -c 'trap "echo member; exit" USR1; echo ready; while :; do sleep 0.05; done' &`;
        await using child = await client.start({ ...shell(`trap 'wait; echo leader; exit' USR1; ${member} wait`), io });
        await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
        assert.equal(await child.signal('SIGUSR1'), true);
        let seen = '';
        for await (const { bytes } of child.output) seen += Buffer.from(bytes).toString();
        assert.match(seen, /member[^]*leader/); // the shell may print a message about the signal
      });
    }

    test('signals can be given by their common names', async () => {
      await using client = await connector.connect();
      for (const name of ['SIGINT', 'INT', 'int', 'interrupt']) {
        await using child = await client.start({ argv: ['sleep', '60'], cwd: '/', env });
        assert.equal(await child.signal(name), true);
        const ending = await child.exit;
        assert.equal(ending.kind === 'signal' && ending.signal, 'SIGINT');
      }
      await using child = await client.start({ argv: ['sleep', '60'], cwd: '/', env });
      const error = await child.signal('SIGNOTHING').catch((thrown: unknown) => thrown);
      assert.ok(isExecError(error, 'invalidParams'), String(error));
    });

    test('a signal to a process that has ended is not delivered, which is not an error', async () => {
      await using client = await connector.connect();
      await using child = await client.start(shell('exit 0'));
      await child.closed;
      assert.equal(await child.signal('SIGTERM'), false);
    });

    test('arg0 sets the name that a program sees as its own, on pipes and terminals', async () => {
      await using client = await connector.connect();
      for (const [, io] of bothKinds) {
        const result = await client.run(['sh', '-c', 'ps -o args= -p $$'], { cwd: '/', env, io, arg0: 'other-name' });
        assert.match(result.stdout.text, /^other-name -c/);
      }
    });

    test('a prepared command is spawned exactly as given', async () => {
      await using client = await connector.connect();
      const prepared = { program: '/bin/sh', argv: ['named', '-c', 'echo "$0 $PWD"'], cwd: '/tmp', env: {}, io: closedPipe };
      await using child = await client.start({ prepared });
      const { text } = await child.collectUntil({ deadlineMs: 20_000, text: '\n' });
      assert.equal(text, 'named /tmp\n');
    });

    test('a prepared command reads exactly the given bytes from descriptor 3', async () => {
      await using client = await connector.connect();
      const script = 'cat <&3 | od -An -v -tu1 | tr -d " \\n" | cksum; ls /proc/$$/fd 2>/dev/null | grep -c "^[3-9]$"';
      const results = [];
      for (const [, io] of bothKinds) {
        for (const fd3 of [Uint8Array.of(0, 255, 10), new Uint8Array(4096).fill(7), undefined]) {
          const prepared = { program: '/bin/sh', argv: ['sh', '-c', `(${script}) 2>/dev/null`], cwd: '/', env, io, fd3 };
          await using child = await client.start({ prepared });
          const chunks: Uint8Array[] = [];
          for await (const { bytes } of child.output) chunks.push(bytes);
          results.push(Buffer.concat(chunks).toString().replaceAll('\r', ''));
        }
      }
      const [small, large, absent] = results;
      assert.deepEqual(results, [small, large, absent, small, large, absent]);
      assert.equal(new Set(results).size, 3);
      const tooLarge = { program: '/bin/sh', argv: ['sh'], cwd: '/', env: {}, io: closedPipe, fd3: new Uint8Array(4097) };
      await assert.rejects(client.start({ prepared: tooLarge }), /fd3 must be at most 4096 bytes, got 4097/);
    });
  });
}
