// How agent programs are started and driven, and the adapter for the caller's own program.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AgentAdapter } from '#src/runner/agent-adapter.js';
import { claude } from '#src/runner/adapters/claude.js';
import { codex } from '#src/runner/adapters/codex.js';
import { type JsonLinesOptions, jsonl } from '#src/runner/adapters/jsonl.js';

const first = { prompt: '--help', resume: undefined, args: ['--model', 'small'] };
const resumed = { ...first, resume: '-s1' };

describe('claude', () => {
  const fixed = '--print --input-format stream-json --output-format stream-json --verbose'.split(' ');

  test('is started with JSON streams in both directions, with the caller’s arguments last', () => {
    assert.deepEqual(claude().command(first).argv, [
      'claude',
      ...fixed,
      '--include-partial-messages',
      '--permission-prompt-tool',
      'stdio',
      '--model',
      'small',
    ]);
  });

  test('resumes with the session and its option as one argument', () => {
    const adapter = claude({ program: '/opt/claude', partialMessages: 'off', permissionPrompts: 'off' });
    assert.deepEqual(adapter.command(resumed).argv, ['/opt/claude', ...fixed, '--resume=-s1', '--model', 'small']);
  });

  test('takes its prompt as an argument on a terminal, in one process per prompt', () => {
    const adapter = claude({ program: '/opt/claude' }).onTerminal ?? assert.fail('none');
    const common = ['/opt/claude', '--print', '--output-format', 'stream-json', '--verbose', '--include-partial-messages'];
    assert.deepEqual(adapter.command(first).argv, [...common, '--model', 'small', '--', '--help']);
    assert.deepEqual(adapter.command(resumed).argv, [...common, '--resume=-s1', '--model', 'small', '--', '--help']);
    assert.deepEqual([adapter.turnsPerProcess, adapter.encodePrompt('--help')], ['one', undefined]);
  });

  test('stores the sessions of a folder in one named after it, unless the name cannot be determined', () => {
    const sessions = claude().sessions ?? assert.fail('none');
    assert.equal(sessions.folderFor('/srv/my_app.v2/ü'), '-srv-my-app-v2--');
    assert.equal(sessions.folderFor(`/${'a'.repeat(200)}`), undefined);
  });

  test('takes prompts, interrupts and permission answers as lines', () => {
    const adapter = claude();
    const request = { type: 'permission', requestId: 'r1', toolName: 'Bash', input: { command: 'ls' } } as const;
    const response = (inner: object) => ({
      type: 'control_response',
      response: { subtype: 'success', request_id: 'r1', response: inner },
    });
    assert.deepEqual(parsed(adapter.encodePrompt('a\nb')), {
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text: 'a\nb' }] },
    });
    assert.deepEqual(parsed(adapter.encodeInterrupt?.('r2')), {
      type: 'control_request',
      request_id: 'r2',
      request: { subtype: 'interrupt' },
    });
    assert.deepEqual(
      [
        adapter.encodePermission?.(request, { behavior: 'allow' }),
        adapter.encodePermission?.(request, { behavior: 'allow', input: { command: 'pwd' } }),
        adapter.encodePermission?.(request, { behavior: 'deny', message: 'no' }),
      ].map(parsed),
      [
        response({ behavior: 'allow', updatedInput: { command: 'ls' } }),
        response({ behavior: 'allow', updatedInput: { command: 'pwd' } }),
        response({ behavior: 'deny', message: 'no' }),
      ],
    );
  });
});

describe('codex', () => {
  test('is started for each prompt, which is sent on stdin and never an argument', () => {
    assert.deepEqual(codex().command(first).argv, ['codex', 'exec', '--json', '--model', 'small', '--', '-']);
    assert.equal(codex().encodePrompt('--help'), '--help');
  });

  test('resumes with the arguments before the command, where they mean the same', () => {
    const adapter = codex({ program: '/opt/codex', model: 'gpt-5' });
    assert.deepEqual(adapter.command({ ...resumed, args: ['-s', 'read-only'] }).argv, [
      ...['/opt/codex', 'exec', '--json', '--model', 'gpt-5', '-s', 'read-only'],
      ...['resume', '--', '-s1', '-'],
    ]);
  });
});

describe('a program of JSON lines', () => {
  const own = (options: Partial<JsonLinesOptions> = {}) =>
    jsonl({ command: ['agent', '-j'], isTurnEnd: (json) => json['done'] === true, ...options });
  const read = (adapter: AgentAdapter, ...lines: readonly object[]) => {
    const reader = adapter.createReader();
    return lines.flatMap((line) => reader.read(JSON.stringify(line), 'stdout'));
  };
  const ended = { type: 'turnEnded', result: { isError: false, reason: 'completed', text: '' } };

  test('gets the caller’s arguments after its own, and prompts as objects', () => {
    assert.deepEqual(own().command(first), { argv: ['agent', '-j', '--model', 'small'] });
    assert.equal(own().encodePrompt('hi'), '{"prompt":"hi"}');
  });

  test('resumes a session only if its command is a function', () => {
    const able = own({ name: 'mine', command: ({ resume, args }) => ['agent', `--session=${resume}`, ...args] });
    assert.deepEqual(able.command(resumed).argv, ['agent', '--session=-s1', '--model', 'small']);
    assert.throws(() => own().command(resumed), {
      message: 'jsonl cannot resume "-s1": its command must be a function to support resuming',
    });
  });

  test('has its lines passed on whole until one ends the turn', () => {
    assert.deepEqual(read(own(), { a: 1 }, { done: true }), [{ type: 'raw', stream: 'stdout', line: { a: 1 } }, ended]);
  });

  test('ends a turn with the result in its last line', () => {
    const adapter = own({ isTurnEnd: (json) => 'ok' in json && { isError: json['ok'] !== true, text: String(json['answer']) } });
    assert.deepEqual(read(adapter, { ok: true, answer: 'yes' }, { ok: false, answer: 'no' }), [
      { type: 'turnEnded', result: { isError: false, reason: 'completed', text: 'yes' } },
      { type: 'turnEnded', result: { isError: true, reason: 'failed', text: 'no' } },
    ]);
  });

  test('has a session, text and events where the caller’s functions find them', () => {
    const adapter = own({
      sessionIdOf: (json) => (typeof json['session'] === 'string' ? json['session'] : undefined),
      textOf: (json) => (typeof json['text'] === 'string' ? json['text'] : undefined),
      eventsOf: (json) => ('busy' in json ? [{ type: 'status', status: 'busy' }] : []),
    });
    assert.deepEqual(read(adapter, { session: 's1', text: 'hi' }, { session: 's1', busy: 1 }, { session: 's1', done: true }), [
      { type: 'session', sessionId: 's1' },
      { type: 'text', text: 'hi' },
      { type: 'status', status: 'busy' },
      { type: 'turnEnded', result: { isError: false, reason: 'completed', text: 'hi' } },
    ]);
  });

  test('has the text of each turn in its result, unless the last line has its own', () => {
    const adapter = own({
      isTurnEnd: (json) => json['done'] === true && ('all' in json ? { text: String(json['all']) } : true),
      textOf: (json) => (typeof json['text'] === 'string' ? json['text'] : undefined),
      eventsOf: (json) => ('say' in json ? [{ type: 'text', text: String(json['say']) }] : []),
    });
    const lines = [
      ...[{ text: 'one ' }, { say: 'two' }, { text: ' three', done: true }],
      ...[{ text: 'four' }, { done: true }],
      ...[{ text: 'draft' }, { done: true, all: 'final' }],
      { done: true },
    ];
    assert.deepEqual(
      read(adapter, ...lines).flatMap((event) => (event.type === 'turnEnded' ? [event.result.text] : [])),
      ['one two three', 'four', 'final', ''],
    );
  });

  test('passes on a line for which one of the caller’s functions throws', () => {
    const adapter = own({
      textOf: () => {
        throw new TypeError('no such member');
      },
    });
    assert.deepEqual(read(adapter, { a: 1 }), [
      { type: 'status', status: 'could not interpret a line: TypeError: no such member' },
      { type: 'raw', stream: 'stdout', line: { a: 1 } },
    ]);
  });
});

function parsed(line: string | undefined): unknown {
  assert.ok(line !== undefined && !line.includes('\n'));
  return JSON.parse(line);
}
