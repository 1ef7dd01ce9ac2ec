// An invalid call gets the same error message with and without a wire between the caller and the server.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isExecError } from '#src/protocol/index.js';
import type { Connector } from './connector.js';

const argv = ['true'];
const ioRule = 'expected an object like {kind: "pty", rows, cols} or {kind: "pipe", stdin}';
const timeRule = 'expected an integer of 0 or more';

/** Method of the client, arguments as a caller without a compiler might write them, and the error message. */
const wrongCalls: readonly (readonly [string, readonly unknown[], string])[] = [
  ['run', ['echo hi'], 'argv: expected a list of strings, got "echo hi"'],
  ['run', [['echo', 5]], 'argv[1]: expected a string, got 5'],
  ['run', [['echo', undefined]], 'argv[1]: expected a string, got nothing'],
  ['run', [[]], 'argv must not be empty'],
  ['run', [argv, { timeoutMs: '5s' }], `timeoutMs: ${timeRule}, got "5s"`],
  ['run', [argv, { timeoutMs: NaN }], `timeoutMs: ${timeRule}, got NaN`],
  ['run', [argv, { idleTimeoutMs: Infinity }], `idleTimeoutMs: ${timeRule}, got Infinity`],
  ['run', [argv, { forceAfterMs: -1 }], `forceAfterMs: ${timeRule}, got -1`],
  ['run', [argv, { io: 'pty' }], `io: ${ioRule}, got "pty"`],
  ['run', [argv, { io: { kind: 'tty' } }], 'io.kind: expected "pty" or "pipe", got "tty"'],
  ['run', [argv, { io: { kind: 'pty', rows: 24 } }], 'io.cols: expected an integer from 1 to 65535, got nothing'],
  ['run', [argv, { env: 'A=1' }], 'env: expected an object of strings, got "A=1"'],
  ['run', [argv, { env: { A: 1 } }], 'env.A: expected a string, got 1'],
  ['run', [argv, { envPolicy: 'all' }], 'envPolicy: expected an object with inherit, got "all"'],
  ['run', [argv, { cwd: 5 }], 'cwd: expected a string of at most 16384 characters, got 5'],
  ['run', [argv, { input: 5 }], 'input: expected a string, a Uint8Array, or an iterable of these, got 5'],
  ['run', [argv, { maxOutputBytes: '1k' }], 'maxOutputBytes: expected an integer from 0 to 9007199254740991, got "1k"'],
  ['run', [argv, { signal: 'SIGTERM' }], 'signal: expected an AbortSignal, got "SIGTERM"'],
  ['run', [argv, { stdin: 'x' }], 'stdin: expected no option of this name (use "input"), got "x"'],
  ['run', [argv, 'fast'], 'options: expected an object, got "fast"'],
  ['exec', ['echo hi'], 'command: expected a list of strings, got "echo hi"'],
  ['exec', [argv, { timeoutMs: '5s' }], 'timeoutMs: expected "none" or an integer of 0 or more, got "5s"'],
  ['exec', [argv, { outputBytesCap: 1.5 }], 'outputBytesCap: expected "none" or an integer from 0 to 9007199254740991, got 1.5'],
  ['exec', [argv, { tty: true }], 'tty: expected an object with rows and cols, got true'],
  ['exec', [argv, { env: ['A=1'] }], 'env: expected an object of strings or nulls, got ["A=1"]'],
  ['exec', [argv, { onOutput: 'print' }], 'onOutput: expected a function, got "print"'],
  ['exec', [argv, { stdin: 'x' }], 'stdin: expected no option of this name (use "input"), got "x"'],
  [
    'exec',
    [argv, { sandboxPolicy: { type: 'tight' } }],
    'sandboxPolicy.type: expected "dangerFullAccess", "readOnly" or "workspaceWrite", got "tight"',
  ],
  ['start', [{ argv, id: 5 }], 'id: expected a string of at most 256 characters, well-formed Unicode, got 5'],
  ['start', [{ argv, id: '\ud800' }], 'id: expected a string of at most 256 characters, well-formed Unicode, got "\\ud800"'],
  ['start', [{ argv, metadata: ['note'] }], 'metadata: expected an object, got ["note"]'],
  ['start', [{ argv, arg0: 1 }], 'arg0: expected a string, got 1'],
  ['start', [{ prepared: { argv } }], 'prepared.program: expected a string of at most 16384 characters, got nothing'],
  [
    'start',
    [{ argv, input: 'x' }],
    'input: expected no option of this name (set "io" to keep stdin open, and write to the handle), got "x"',
  ],
  ['attach', [5], 'processId: expected a string of at most 256 characters, well-formed Unicode, got 5'],
  ['attach', ['p', { afterSeq: -1 }], 'afterSeq: expected an integer from 0 to 9007199254740991, got -1'],
  ['attach', ['p', { role: 'own' }], 'role: expected "watch" or "drive", got "own"'],
  ['list', [{ scope: 'mine' }], 'scope: expected "session" or "all", got "mine"'],
  ['list', ['all'], 'params: expected an object, got "all"'],
];

const wrongHandleCalls: readonly (readonly [string, readonly unknown[], string])[] = [
  ['write', [5], 'chunk: expected bytes, which are padded base64 on the wire, got 5'],
  ['write', ['x', ''], 'writeId: expected a string of 1 to 128 characters, got ""'],
  ['read', [{ waitMs: 1.5 }], `waitMs: ${timeRule}, got 1.5`],
  ['read', [{ maxBytes: '1k' }], 'maxBytes: expected an integer of 0 or more, got "1k"'],
  ['resize', [{ rows: 0, cols: 80 }], 'size.rows: expected an integer from 1 to 65535, got 0'],
  ['resize', [], 'size: expected an object with rows and cols, got nothing'],
  ['signal', [9], 'signal: expected a string of at most 256 characters, got 9'],
  ['signal', ['SIGNONE'], 'signal must be a POSIX name such as SIGINT, got "SIGNONE"'],
  ['terminate', [{ forceAfterMs: '2s' }], `forceAfterMs: ${timeRule}, got "2s"`],
  ['endedWithin', ['5s'], `timeoutMs: ${timeRule}, got "5s"`],
  ['collectUntil', [{ deadlineMs: '5s' }], 'deadlineMs: expected a number of 0 or more, got "5s"'],
  ['collectUntil', [], 'options: expected an object with deadlineMs, got nothing'],
];

export function refusals(connector: Connector): void {
  describe('an invalid call', () => {
    test('of the client is refused with the member, the rule and the value', async () => {
      await using client = await connector.connect();
      for (const [method, args, problem] of wrongCalls) assert.equal(await refusal(client, method, args), problem, method);
      assert.deepEqual(await client.list(), []);
    });

    test('of a handle is refused with the member, the rule and the value, and the process keeps running', async () => {
      await using client = await connector.connect();
      await using child = await client.start({ argv: ['cat'], io: { kind: 'pipe', stdin: 'open' } });
      for (const [method, args, problem] of wrongHandleCalls) assert.equal(await refusal(child, method, args), problem, method);
      await child.write('still here\n');
      assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: '\n' })).text, 'still here\n');
    });
  });
}

async function refusal(target: object, method: string, args: readonly unknown[]): Promise<string> {
  const called: unknown = Reflect.get(target, method);
  assert.ok(typeof called === 'function');
  try {
    const result: unknown = Reflect.apply(called, target, args);
    await result;
  } catch (error) {
    assert.ok(isExecError(error, 'invalidParams'), `${method}: ${String(error)}`);
    return error.message;
  }
  return 'not refused';
}
