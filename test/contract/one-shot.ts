// One command in one call: its result, its streamed output, its input, and ways to control it while it runs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import type { ExecOutput } from '#src/client/index.js';
import { living } from '../support/processes.js';
import type { Connector } from './connector.js';

const shell = (script: string) => ['sh', '-c', script];

function texts(outputs: readonly ExecOutput[], stream: 'stdout' | 'stderr'): string {
  const parts = outputs.filter((output) => output.stream === stream).map(({ bytes }) => bytes);
  return Buffer.concat(parts).toString();
}

export function oneShot(connector: Connector): void {
  describe('a one-shot command', () => {
    test('resolves with its result when it has ended', async () => {
      await using client = await connector.connect();
      const { exitCode, stdout, stderr, timedOut, sandboxType } = await client.exec(shell('echo out; echo error >&2; exit 3'));
      assert.deepEqual([exitCode, stdout, stderr, timedOut, sandboxType], [3, 'out\n', 'error\n', false, 'none']);
    });

    test('takes input from a string, from bytes or from an async iterable', async () => {
      await using client = await connector.connect();
      async function* streamed(): AsyncGenerator<string | Uint8Array> {
        yield 'one ';
        yield Buffer.from('two');
      }
      for (const input of ['one two', Buffer.from('one two'), streamed()]) {
        assert.equal((await client.exec(['cat'], { input })).stdout, 'one two');
      }
      const large = 'x'.repeat(3_000_000);
      const { stdoutBytes } = await client.exec(['cat'], { input: large });
      assert.equal(stdoutBytes, large.length);
      assert.equal((await client.exec(['true'], { input: large, timeoutMs: 'none' })).exitCode, 0); // unread input is dropped
    });

    test('streams its output as it arrives, up to a cap', async () => {
      await using client = await connector.connect();
      const outputs: ExecOutput[] = [];
      const onOutput = (output: ExecOutput) => outputs.push(output);
      const result = await client.exec(shell('printf 1234567890; printf error >&2'), { onOutput, outputBytesCap: 7 });
      assert.deepEqual(
        [result.stdout, result.stdoutBytes, result.stdoutCapReached, result.stderrCapReached],
        ['', 10, true, false],
      );
      assert.deepEqual([texts(outputs, 'stdout'), texts(outputs, 'stderr')], ['1234567', 'error']);
    });

    test('runs on a terminal that can be resized', async () => {
      await using client = await connector.connect();
      const outputs: ExecOutput[] = [];
      let isReady: () => void = () => {};
      const ready = new Promise<void>((resolve) => (isReady = resolve));
      const running = client.exec(shell('trap "stty size; exit 6" WINCH; echo ready; while :; do sleep 0.05; done'), {
        tty: { rows: 20, cols: 60 },
        onOutput: (output) => {
          outputs.push(output);
          if (texts(outputs, 'stdout').includes('ready')) isReady();
        },
      });
      await ready;
      await running.resize({ rows: 21, cols: 61 });
      assert.equal((await running).exitCode, 6);
      assert.equal(texts(outputs, 'stdout'), 'ready\r\n21 61\r\n');
    });

    test('is ended by terminate or by the caller’s AbortSignal, with everything it started', async () => {
      await using client = await connector.connect();
      const stop = new AbortController();
      for (const end of ['terminate', 'abort'] as const) {
        const pids: number[] = [];
        let isStarted: () => void = () => {};
        const started = new Promise<void>((resolve) => (isStarted = resolve));
        const running = client.exec(shell('setsid sleep 600 & echo $!; trap "" TERM; sleep 600'), {
          timeoutMs: 'none',
          signal: stop.signal,
          onOutput: ({ bytes }) => {
            pids.push(Number(Buffer.from(bytes).toString()));
            isStarted();
          },
        });
        await started;
        if (end === 'abort') stop.abort();
        else await running.terminate();
        const { exitCode, signal } = await running;
        assert.deepEqual([exitCode, signal], [137, 'SIGKILL']);
        assert.deepEqual(await living(pids), []);
        await running.terminate(); // already ended: no effect
      }
      await assert.rejects(async () => client.exec(['true'], { signal: stop.signal }), { name: 'AbortError' });
    });

    test('is ended by its timeout', async () => {
      await using client = await connector.connect();
      const { exitCode, timedOut } = await client.exec(['sleep', '600'], { timeoutMs: 200 });
      assert.deepEqual([exitCode, timedOut], [124, true]);
    });

    test('that cannot be started rejects with the reason', async () => {
      await using client = await connector.connect();
      await assert.rejects(
        async () => client.exec(['no-such-program']),
        (error) => isExecError(error, 'spawnFailed') && error.data.failure === 'programNotFound',
      );
    });

    test('ends with its client', async () => {
      const client = await connector.connect();
      let pid = 0;
      let isStarted: () => void = () => {};
      const started = new Promise<void>((resolve) => (isStarted = resolve));
      const running = client.exec(shell('echo $$; exec sleep 600'), {
        timeoutMs: 'none',
        onOutput: ({ bytes }) => {
          pid = Number(Buffer.from(bytes).toString());
          isStarted();
        },
      });
      const outcome = running.then(
        ({ exitCode }) => exitCode,
        () => 'lost',
      );
      await started;
      await client.close();
      assert.deepEqual(await living([pid]), []);
      assert.ok(['lost', 137].includes(await outcome));
    });
  });
}
