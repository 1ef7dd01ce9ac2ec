// One name for one thing: the option for a command's stdin is `input` in every call.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ExecOptions, type RunOptions, connectInProcess, run } from '#src/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

/** Whether the compiler accepts options with a `stdin`. This file does not compile if it does. */
type WithStdin<Options> = { readonly stdin: string } extends Options ? 'accepted' : 'refused';
const byTheCompiler: readonly [WithStdin<RunOptions>, WithStdin<ExecOptions>] = ['refused', 'refused'];

describe('the input of a command', () => {
  guardAgainstLeaks();

  test('is called input by run and by exec', async () => {
    await using client = connectInProcess();
    assert.equal((await run(['cat'], { input: 'fed' })).stdout.text, 'fed');
    assert.equal((await client.run(['cat'], { input: 'fed' })).stdout.text, 'fed');
    assert.equal((await client.exec(['cat'], { input: 'fed' })).stdout, 'fed');
  });

  test('is refused under the name stdin, by the compiler and by the call', async () => {
    assert.deepEqual(byTheCompiler, ['refused', 'refused']);
    const call: CallableFunction = run;
    const called = async (): Promise<unknown> => Reflect.apply(call, undefined, [['cat'], { stdin: 'fed' }]);
    await assert.rejects(called, { message: 'stdin: expected no option of this name (use "input"), got "fed"' });
  });
});
