// The one-shot commands: what Codex's app-server does, case by case, and where Sluice differs on purpose.

import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, describe, test } from 'node:test';
import { eventually } from '../support/eventually.js';
import { living } from '../support/processes.js';
import { type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';

const mib = 1024 * 1024;
const shell = (script: string) => ['sh', '-c', script];

/** The members of a reply that a test is not about. */
const quiet = {
  exitCode: 0,
  stdout: '',
  stderr: '',
  timedOut: false,
  stdoutCapReached: false,
  stderrCapReached: false,
  stdoutBytes: 0,
  stderrBytes: 0,
  sandboxType: 'none',
};

interface Delta {
  readonly stream: string;
  readonly text: string;
  readonly capReached: boolean;
}

function deltasOf(peer: RawPeer, processId: string): Delta[] {
  return peer.messages
    .filter((message) => message.method === 'command/exec/outputDelta' && paramsOf(message)['processId'] === processId)
    .map((message) => {
      const { stream, deltaBase64, capReached } = paramsOf(message) as {
        stream: string;
        deltaBase64: string;
        capReached: boolean;
      };
      return { stream, text: Buffer.from(deltaBase64, 'base64').toString('latin1'), capReached };
    });
}

function deltaText(peer: RawPeer, processId: string, stream = 'stdout'): string {
  return deltasOf(peer, processId)
    .filter((delta) => delta.stream === stream)
    .map(({ text }) => text)
    .join('');
}

/** `open` connects to a server or launches one. */
export function commandExec(name: string, open: () => Promise<RawPeer>): void {
  async function greeted(): Promise<RawPeer> {
    const peer = await open();
    await peer.greet();
    return peer;
  }

  describe(`command/exec over ${name}`, () => {
    test('requires the handshake', async () => {
      await using peer = await open();
      const { code, message } = errorOf(await peer.request('command/exec', { command: ['true'] }));
      assert.deepEqual([code, message], [-32600, 'client must call initialize before using exec methods']);
    });

    test('runs a command to its end and replies with its exit code, output, totals and sandbox', async () => {
      await using peer = await greeted();
      const reply = await peer.request('command/exec', { command: shell('printf out; printf error >&2; exit 3') });
      assert.deepEqual(resultOf(reply), {
        ...quiet,
        exitCode: 3,
        stdout: 'out',
        stderr: 'error',
        stdoutBytes: 3,
        stderrBytes: 5,
      });
    });

    test('replaces invalid UTF-8 in the reply', async () => {
      await using peer = await greeted();
      const { stdout, stdoutBytes } = resultOf(await peer.request('command/exec', { command: ['printf', '\\303\\251\\377'] }));
      assert.deepEqual([stdout, stdoutBytes], ['é\ufffd', 3]);
    });

    describe('refuses', () => {
      const rows: readonly [string, object, number, string | RegExp][] = [
        ['an empty command', { command: [] }, -32600, 'command must not be empty'],
        ...(['tty', 'streamStdin', 'streamStdoutStderr'] as const).map((flag): [string, object, number, string] => [
          `${flag} without an id`,
          { command: ['true'], [flag]: true },
          -32600,
          'command/exec tty or streaming requires a client-supplied processId',
        ]),
        [
          'a cap that is both set and disabled',
          { command: ['true'], outputBytesCap: 1, disableOutputCap: true },
          -32602,
          'command/exec cannot set both outputBytesCap and disableOutputCap',
        ],
        [
          'a negative timeout',
          { command: ['true'], timeoutMs: -1 },
          -32602,
          'command/exec timeoutMs must be non-negative, got -1',
        ],
        [
          'a timeout that is both set and disabled',
          { command: ['true'], timeoutMs: 1, disableTimeout: true },
          -32602,
          'command/exec cannot set both timeoutMs and disableTimeout',
        ],
        [
          'a size without a terminal',
          { command: ['true'], size: { rows: 1, cols: 1 } },
          -32602,
          'command/exec size requires tty: true',
        ],
        [
          'a size of zero',
          { command: ['true'], processId: 'p', tty: true, size: { rows: 0, cols: 80 } },
          -32602,
          'command/exec size rows and cols must be greater than 0',
        ],
        [
          'a profile together with a policy',
          { command: ['true'], permissionProfile: {}, sandboxPolicy: { type: 'dangerFullAccess' } },
          -32600,
          '`permissionProfile` cannot be combined with `sandboxPolicy`',
        ],
        [
          'a profile, which it cannot enforce (differs: refused, not ignored)',
          { command: ['true'], permissionProfile: {} },
          -32602,
          /permissionProfile/,
        ],
        [
          'a policy that limits reading, which it cannot enforce',
          { command: ['true'], sandboxPolicy: { type: 'readOnly', access: { type: 'restricted', readableRoots: ['/usr'] } } },
          -32602,
          /^sandboxPolicy\.access/,
        ],
        ...['dangerFullAccess', 'readOnly', 'workspaceWrite'].map((type): [string, object, number, RegExp] => [
          `a ${type} policy with an unknown member, since it may be a limit`,
          { command: ['true'], sandboxPolicy: { type, readableRoots: ['/usr'] } },
          -32602,
          /^sandboxPolicy\.readableRoots: expected no member of this name, since it may be a limit/,
        ]),
        [
          'a program that does not exist',
          { command: ['no-such-program'] },
          -32603,
          /^failed to spawn command: .*no-such-program/,
        ],
        [
          'a folder that does not exist',
          { command: ['true'], cwd: '/no/such' },
          -32603,
          /^failed to spawn command: .*\/no\/such/,
        ],
        [
          'parameters of the wrong type (differs: -32602, not -32600)',
          { command: 'true' },
          -32602,
          'command: expected a list of strings, got "true"',
        ],
      ];
      for (const [what, params, code, text] of rows) {
        test(what, async () => {
          await using peer = await greeted();
          const error = errorOf(await peer.request('command/exec', params));
          assert.equal(error.code, code);
          if (typeof text === 'string') assert.equal(error.message, text);
          else assert.match(error.message, text);
        });
      }

      test('an id in use, without affecting the command that has it', async () => {
        await using peer = await greeted();
        peer.send(
          JSON.stringify({ id: 1, method: 'command/exec', params: { command: ['cat'], processId: 'p', streamStdin: true } }),
        );
        const { code, message } = errorOf(await peer.request('command/exec', { command: ['true'], processId: 'p' }));
        assert.deepEqual([code, message], [-32600, 'duplicate active command/exec process id: "p"']);
        await peer.request('command/exec/write', { processId: 'p', closeStdin: true });
        assert.equal(resultOf(await peer.reply(1))['exitCode'], 0);
        assert.equal(resultOf(await peer.request('command/exec', { command: ['true'], processId: 'p' }))['exitCode'], 0);
      });

      for (const [method, more] of [
        ['command/exec/write', { closeStdin: true }],
        ['command/exec/resize', { size: { rows: 1, cols: 1 } }],
        ['command/exec/terminate', {}],
      ] as const) {
        test(`${method} for an id that is not active`, async () => {
          await using peer = await greeted();
          const { code, message } = errorOf(await peer.request(method, { processId: 'x', ...more }));
          assert.deepEqual([code, message], [-32600, 'no active command/exec for process id "x"']);
        });
      }

      test('writes that are empty, are not base64, have no stdin to write to, or follow its end', async () => {
        await using peer = await greeted();
        const run = (id: number, params: object) =>
          peer.send(
            JSON.stringify({
              id,
              method: 'command/exec',
              params: { command: shell('echo up; sleep 60'), streamStdoutStderr: true, ...params },
            }),
          );
        run(1, { processId: 'closed' });
        run(2, { processId: 'open', streamStdin: true });
        const refused = async (params: object) => {
          const { code, message } = errorOf(await peer.request('command/exec/write', params));
          return [code, message];
        };
        assert.deepEqual(await refused({ processId: 'open' }), [-32602, 'command/exec/write requires deltaBase64 or closeStdin']);
        assert.equal((await refused({ processId: 'open', deltaBase64: '*' }))[0], -32602);
        assert.deepEqual(await refused({ processId: 'closed', deltaBase64: 'eA==' }), [
          -32600,
          'stdin streaming is not enabled for this command/exec',
        ]);
        resultOf(await peer.request('command/exec/write', { processId: 'open', closeStdin: true }));
        assert.deepEqual(await refused({ processId: 'open', deltaBase64: 'eA==' }), [-32600, 'stdin is already closed']);
        assert.deepEqual(await refused({ processId: 'open', deltaBase64: 'eA==', closeStdin: true }), [
          -32600,
          'stdin is already closed',
        ]);
        for (const again of [{ closeStdin: true }, { deltaBase64: '' }, { deltaBase64: '', closeStdin: true }]) {
          assert.deepEqual(resultOf(await peer.request('command/exec/write', { processId: 'open', ...again })), {});
        }
        const resize = await peer.request('command/exec/resize', { processId: 'open', size: { rows: 2, cols: 2 } });
        const { code, message } = errorOf(resize);
        assert.deepEqual([code, message], [-32600, 'process open has no terminal; start it with tty true to resize it']);
        for (const processId of ['open', 'closed']) await peer.request('command/exec/terminate', { processId });
        for (const id of [1, 2]) assert.equal(resultOf(await peer.reply(id))['exitCode'], 137);
      });
    });

    describe('gives the command', () => {
      test('an empty stdin unless it is streamed', async () => {
        await using peer = await greeted();
        assert.equal(resultOf(await peer.request('command/exec', { command: shell('cat; echo end') }))['stdout'], 'end\n');
      });

      test('the server’s working directory, one relative to it, or a file: URI', async () => {
        await using peer = await greeted();
        const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-')));
        try {
          const where = async (cwd?: string) =>
            resultOf(await peer.request('command/exec', { command: ['pwd'], ...(cwd === undefined ? {} : { cwd }) }))['stdout'];
          assert.equal(await where(), `${process.cwd()}\n`);
          assert.equal(await where('src'), `${join(process.cwd(), 'src')}\n`);
          assert.equal(await where(folder), `${folder}\n`);
          assert.equal(await where(`file://${folder}`), `${folder}\n`);
        } finally {
          rmSync(folder, { recursive: true });
        }
      });

      test('the server’s environment with the requested changes; null unsets', async () => {
        await using peer = await greeted();
        const command = shell('echo "${HOME-unset}|${PATH:+path}|$MINE"');
        const { stdout } = resultOf(await peer.request('command/exec', { command, env: { HOME: null, MINE: 'x' } }));
        assert.equal(stdout, 'unset|path|x\n');
      });

      test('a terminal of 24 rows and 80 columns, or of the requested size', async () => {
        await using peer = await greeted();
        const size = async (processId: string, more: object) => {
          const reply = resultOf(
            await peer.request('command/exec', { command: ['stty', 'size'], processId, tty: true, ...more }),
          );
          assert.deepEqual([reply['exitCode'], reply['stdout']], [0, '']);
          return deltaText(peer, processId);
        };
        assert.equal(await size('a', {}), '24 80\r\n');
        assert.equal(await size('b', { size: { rows: 33, cols: 101 } }), '33 101\r\n');
      });

      test('10 s when no timeout is set', async () => {
        await using peer = await greeted();
        const { timedOut, exitCode } = resultOf(await peer.request('command/exec', { command: ['sleep', '600'] }));
        assert.deepEqual([timedOut, exitCode], [true, 124]);
      });
    });

    describe('ends the command', () => {
      test('with 124 at its timeout, and returns what it wrote', async () => {
        await using peer = await greeted();
        const reply = resultOf(
          await peer.request('command/exec', { command: shell('trap "" TERM; echo up; sleep 600'), timeoutMs: 300 }),
        );
        assert.deepEqual(reply, { ...quiet, exitCode: 124, signal: 'SIGKILL', timedOut: true, stdout: 'up\n', stdoutBytes: 3 });
      });

      test('at once when its timeout is 0', async () => {
        await using peer = await greeted();
        const { exitCode, timedOut } = resultOf(await peer.request('command/exec', { command: ['sleep', '600'], timeoutMs: 0 }));
        assert.deepEqual([exitCode, timedOut], [124, true]);
      });

      for (const [kind, tty] of [
        ['pipes', false],
        ['a terminal (differs: not 1)', true],
      ] as const) {
        test(`on terminate, with 137, on ${kind}`, async () => {
          await using peer = await greeted();
          const params = {
            command: shell('echo up; sleep 600'),
            processId: 'p',
            tty,
            streamStdoutStderr: true,
            disableTimeout: true,
          };
          peer.send(JSON.stringify({ id: 1, method: 'command/exec', params }));
          await peer.notification('command/exec/outputDelta', 'p');
          assert.deepEqual(resultOf(await peer.request('command/exec/terminate', { processId: 'p' })), {});
          const { exitCode, signal } = resultOf(await peer.reply(1));
          assert.deepEqual([exitCode, signal], [137, 'SIGKILL']);
        });
      }

      test('with everything it left in the background', async () => {
        await using peer = await greeted();
        const command = shell('setsid sleep 600 >/dev/null 2>&1 & echo $!; sleep 600 >/dev/null 2>&1 & echo $!');
        const { stdout } = resultOf(await peer.request('command/exec', { command }));
        const pids = String(stdout).trim().split('\n').map(Number);
        assert.equal(pids.length, 2);
        assert.deepEqual(await living(pids), []);
      });

      test('after waiting up to 2 s for a background job that holds its output open', async () => {
        await using peer = await greeted();
        const command = shell('(sleep 0.3; echo late; sleep 600) & echo early $!');
        const { stdout } = resultOf(await peer.request('command/exec', { command }));
        assert.match(String(stdout), /^early \d+\nlate\n$/);
      });

      for (const [session, greeting] of [
        ['a session that ends with it', {}],
        ['a resumable session, where only processes keep running', { resumeSessionId: null }],
      ] as const)
        test(`with its connection, with any kind of streaming, in ${session}`, async () => {
          const peer = await open();
          await peer.greet(greeting);
          const script = 'echo $$; trap "" TERM HUP; while :; do sleep 0.05; done';
          const kinds = [
            { processId: 'a', streamStdoutStderr: true },
            { processId: 'b', tty: true },
            { processId: 'c', streamStdin: true, streamStdoutStderr: true },
          ];
          for (const [id, kind] of kinds.entries()) {
            peer.send(
              JSON.stringify({ id, method: 'command/exec', params: { command: shell(script), disableTimeout: true, ...kind } }),
            );
          }
          const pids = await Promise.all(
            kinds.map(async ({ processId }) => {
              await peer.notification('command/exec/outputDelta', processId);
              return Number.parseInt(deltaText(peer, processId), 10);
            }),
          );
          assert.equal((await living(pids)).length, 3);
          await peer[Symbol.asyncDispose]();
          await eventually(async () => assert.deepEqual(await living(pids), []));
        });
    });

    describe('streams', () => {
      test('output as it arrives and not in the reply, which is sent last', async () => {
        await using peer = await greeted();
        const params = { command: shell('printf out; printf error >&2'), processId: 'p', streamStdoutStderr: true };
        const reply = await peer.request('command/exec', params);
        assert.deepEqual(resultOf(reply), { ...quiet, stdoutBytes: 3, stderrBytes: 5 });
        assert.deepEqual([deltaText(peer, 'p'), deltaText(peer, 'p', 'stderr')], ['out', 'error']);
        assert.equal(peer.messages.at(-1), reply);
      });

      test('stdin as it is written, until it is closed', async () => {
        await using peer = await greeted();
        peer.send(
          JSON.stringify({ id: 1, method: 'command/exec', params: { command: ['cat'], processId: 'p', streamStdin: true } }),
        );
        resultOf(await peer.request('command/exec/write', { processId: 'p', deltaBase64: 'b25lCg==' }));
        resultOf(await peer.request('command/exec/write', { processId: 'p', deltaBase64: 'dHdvCg==', closeStdin: true }));
        assert.equal(resultOf(await peer.reply(1))['stdout'], 'one\ntwo\n');
      });

      test('a terminal both ways, with its size and the end of its input', async () => {
        await using peer = await greeted();
        const command = shell('stty -echo; echo ready; while read -r line; do echo "$line at $(stty size)"; done; echo over');
        peer.send(JSON.stringify({ id: 1, method: 'command/exec', params: { command, processId: 'p', tty: true } }));
        await eventually(() => assert.match(deltaText(peer, 'p'), /ready/));
        resultOf(await peer.request('command/exec/resize', { processId: 'p', size: { rows: 5, cols: 50 } }));
        await peer.request('command/exec/write', { processId: 'p', deltaBase64: Buffer.from('a line\n').toString('base64') });
        await eventually(() => assert.match(deltaText(peer, 'p'), /a line at 5 50/));
        await peer.request('command/exec/write', { processId: 'p', closeStdin: true });
        assert.equal(resultOf(await peer.reply(1))['exitCode'], 0);
        assert.match(deltaText(peer, 'p'), /over\r\n$/);
      });

      test('10 000 pipelined writes in order, none refused (differs: no overload)', async () => {
        await using peer = await greeted();
        const params = {
          command: shell('cksum'),
          processId: 'p',
          streamStdin: true,
          streamStdoutStderr: true,
          disableTimeout: true,
        };
        peer.send(JSON.stringify({ id: 'run', method: 'command/exec', params }));
        const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}\n`);
        for (const [id, line] of lines.entries()) {
          const write = { processId: 'p', deltaBase64: Buffer.from(line).toString('base64') };
          peer.send(JSON.stringify({ id: `w${id}`, method: 'command/exec/write', params: write }));
        }
        peer.send(JSON.stringify({ id: 'end', method: 'command/exec/write', params: { processId: 'p', closeStdin: true } }));
        assert.equal(resultOf(await peer.reply('run'))['exitCode'], 0);
        assert.deepEqual(
          peer.messages.filter((message) => message['error'] !== undefined),
          [],
        );
        const counted = await peer.request('command/exec', {
          command: shell('i=0; while [ $i -lt 10000 ]; do echo "line $i"; i=$((i+1)); done | cksum'),
        });
        assert.equal(deltaText(peer, 'p'), resultOf(counted)['stdout']);
      });
    });

    describe('caps each stream', () => {
      test('at 1 MiB by default; the command keeps running and everything is counted', async () => {
        await using peer = await greeted();
        const command = shell(`head -c ${3 * mib} /dev/zero; head -c 10 /dev/zero >&2; exit 4`);
        const reply = resultOf(await peer.request('command/exec', { command }));
        assert.deepEqual(
          { ...reply, stdout: String(reply['stdout']).length, stderr: String(reply['stderr']).length },
          { ...quiet, exitCode: 4, stdout: mib, stderr: 10, stdoutCapReached: true, stdoutBytes: 3 * mib, stderrBytes: 10 },
        );
      });

      test('exactly: output as long as the cap does not set capReached (differs: Codex sets it)', async () => {
        await using peer = await greeted();
        const run = async (bytes: number, processId: string) => {
          const params = { command: ['head', '-c', String(bytes), '/dev/zero'], outputBytesCap: 5 };
          const { stdoutCapReached, stdout } = resultOf(await peer.request('command/exec', params));
          const streamed = { ...params, processId, streamStdoutStderr: true };
          const { stdoutCapReached: again, stdoutBytes } = resultOf(await peer.request('command/exec', streamed));
          const deltas = deltasOf(peer, processId);
          return [
            stdoutCapReached,
            again,
            stdoutBytes,
            String(stdout).length,
            deltas.map(({ text }) => text.length).reduce((a, b) => a + b, 0),
            deltas.at(-1)?.capReached,
          ];
        };
        assert.deepEqual(await run(4, 'a'), [false, false, 4, 4, 4, false]);
        assert.deepEqual(await run(5, 'b'), [false, false, 5, 5, 5, false]);
        assert.deepEqual(await run(6, 'c'), [true, true, 6, 5, 5, true]);
      });

      test('with a last delta that has capReached, and nothing after it', async () => {
        await using peer = await greeted();
        const command = shell('printf 123456; sleep 0.2; printf 7890; printf e >&2');
        await peer.request('command/exec', { command, processId: 'p', streamStdoutStderr: true, outputBytesCap: 6 });
        const deltas = deltasOf(peer, 'p').filter(({ stream }) => stream === 'stdout');
        assert.equal(deltas.map(({ text }) => text).join(''), '123456');
        assert.deepEqual(
          deltas.map(({ capReached }) => capReached),
          [...deltas.slice(1).map(() => false), true],
        );
        assert.equal(deltaText(peer, 'p', 'stderr'), 'e');
      });

      test('at 0, with one empty delta', async () => {
        await using peer = await greeted();
        await peer.request('command/exec', {
          command: ['echo', 'x'],
          processId: 'p',
          streamStdoutStderr: true,
          outputBytesCap: 0,
        });
        assert.deepEqual(deltasOf(peer, 'p'), [{ stream: 'stdout', text: '', capReached: true }]);
      });

      test('not at all when the cap is disabled', async () => {
        await using peer = await greeted();
        const command = ['head', '-c', String(5 * mib), '/dev/zero'];
        const { stdout, stdoutCapReached } = resultOf(await peer.request('command/exec', { command, disableOutputCap: true }));
        assert.deepEqual([String(stdout).length, stdoutCapReached], [5 * mib, false]);
        const streamed = { command, disableOutputCap: true, processId: 'p', streamStdoutStderr: true };
        assert.equal(resultOf(await peer.request('command/exec', streamed))['stdoutBytes'], 5 * mib);
        assert.equal(deltaText(peer, 'p').length, 5 * mib);
      });
    });

    describe('with a stdin that the command does not read (differs: Codex blocks)', () => {
      const offer = (peer: RawPeer): void => {
        const piece = Buffer.alloc(256 * 1024).toString('base64');
        for (let id = 0; id < 256; id += 1) {
          peer.send(
            JSON.stringify({ id: `w${id}`, method: 'command/exec/write', params: { processId: 'p', deltaBase64: piece } }),
          );
        }
      };

      test('64 MiB offered do not delay the timeout', async (context: TestContext) => {
        await using peer = await greeted();
        const begun = performance.now();
        peer.send(
          JSON.stringify({
            id: 1,
            method: 'command/exec',
            params: { command: ['sleep', '600'], processId: 'p', streamStdin: true, timeoutMs: 2_000 },
          }),
        );
        offer(peer);
        const { exitCode, timedOut } = resultOf(await peer.reply(1));
        context.diagnostic(`enforced after ${Math.round(performance.now() - begun)} ms`);
        assert.deepEqual([exitCode, timedOut], [124, true]);
      });

      test('terminate and other requests are answered', async (context: TestContext) => {
        await using peer = await greeted();
        const params = { command: ['sleep', '600'], processId: 'p', streamStdin: true, disableTimeout: true };
        peer.send(JSON.stringify({ id: 1, method: 'command/exec', params }));
        offer(peer);
        assert.deepEqual(resultOf(await peer.request('environment/status', {})), { status: 'ready' });
        const begun = performance.now();
        assert.deepEqual(resultOf(await peer.request('command/exec/terminate', { processId: 'p' })), {});
        context.diagnostic(`terminate answered after ${Math.round(performance.now() - begun)} ms`);
        assert.equal(resultOf(await peer.reply(1))['exitCode'], 137);
      });
    });

    test('keeps its ids out of process/list and the other process methods', async () => {
      await using peer = await greeted();
      peer.send(
        JSON.stringify({ id: 1, method: 'command/exec', params: { command: ['cat'], processId: 'p', streamStdin: true } }),
      );
      assert.deepEqual(resultOf(await peer.request('process/list', {})), { processes: [] });
      const { code } = errorOf(await peer.request('process/read', { processId: 'p' }));
      assert.equal(code, -32600);
      await peer.request('command/exec/write', { processId: 'p', closeStdin: true });
      await peer.reply(1);
    });
  });
}
