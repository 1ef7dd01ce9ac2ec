// Which rights of Codex's client a file operation may have on a server that confines nothing.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SandboxContext, isAnyExecError } from '#src/protocol/index.js';
import { requireUnconfined } from '#src/server/machine/sandbox-rule.js';

type Managed = Extract<SandboxContext['permissions'], { type: 'managed' }>;
type Entries = Extract<Managed['file_system'], { type: 'restricted' }>['entries'];

const root = (access: Entries[number]['access']): Entries[number] => ({
  path: { type: 'special', value: { kind: 'root' } },
  access,
});
const project: Entries[number] = { path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' };

function context(permissions: SandboxContext['permissions'], more: Partial<SandboxContext> = {}): SandboxContext {
  return { permissions, windowsSandboxLevel: 'disabled', ...more };
}

function restricted(entries: Entries, more: Partial<SandboxContext> = {}): SandboxContext {
  return context({ type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' }, more);
}

/** For reading and for writing: `yes`, or the code of the refusal. */
function verdicts(sandbox: SandboxContext | null | undefined): (number | 'yes')[] {
  return (['read', 'write'] as const).map((access) => {
    try {
      requireUnconfined(sandbox, access);
      return 'yes';
    } catch (error) {
      return isAnyExecError(error) ? error.code : assert.fail(String(error));
    }
  });
}

describe('a file operation', () => {
  test('acts freely if nothing restricts it', () => {
    const free = [
      undefined,
      null,
      context({ type: 'disabled' }),
      context({ type: 'external', network: 'restricted' }),
      context({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' }),
    ];
    for (const sandbox of free) assert.deepEqual(verdicts(sandbox), ['yes', 'yes']);
  });

  test('reads where only writing is restricted', () => {
    assert.deepEqual(verdicts(restricted([root('read')])), ['yes', -32600]);
    assert.deepEqual(verdicts(restricted([root('write')])), ['yes', -32600]); // .git and its like stay protected
    assert.deepEqual(verdicts(restricted([root('read'), project], { cwd: 'file:///work' })), ['yes', -32600]);
    assert.deepEqual(verdicts(restricted([root('read'), project], { policyContext: { cwd: 'file:///work' } })), ['yes', -32600]);
  });

  test('is refused where reading is restricted, with a reason that names the sandbox', () => {
    const denied: Entries[number] = { path: { type: 'glob_pattern', pattern: '/x/*.key' }, access: 'deny' };
    for (const entries of [[], [root('none')], [root('read'), denied]]) {
      assert.deepEqual(verdicts(restricted(entries)), [-32600, -32600]);
    }
    assert.throws(() => requireUnconfined(restricted([]), 'read'), /sandbox/);
  });

  test('needs a folder if its rights depend on one', () => {
    const pattern: Entries[number] = { path: { type: 'glob_pattern', pattern: '*.key' }, access: 'deny' };
    assert.deepEqual(verdicts(restricted([root('read'), project])), [-32602, -32602]);
    assert.deepEqual(verdicts(restricted([root('read'), pattern])), [-32602, -32602]);
  });

  test('needs file: URIs everywhere, and paths of this machine in its rights', () => {
    const at = (path: string): Entries[number] => ({ path: { type: 'path', path }, access: 'write' });
    assert.deepEqual(verdicts(context({ type: 'disabled' }, { cwd: '/work' })), [-32602, -32602]);
    assert.deepEqual(verdicts(restricted([root('read'), at('/work')])), [-32602, -32602]);
    assert.deepEqual(verdicts(restricted([root('read'), at('file:///C:/x')])), [-32600, -32600]);
  });
});
