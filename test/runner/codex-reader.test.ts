// What the lines of codex mean, one rule at a time, with hand-written lines. What it really prints is in transcripts.test.ts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AdapterEvent } from '#src/runner/agent-event.js';
import { codex } from '#src/runner/adapters/codex.js';

/** The events of these lines, read by a new reader. */
function read(...lines: readonly object[]): AdapterEvent[] {
  const reader = codex().createReader();
  return lines.flatMap((line) => reader.read(JSON.stringify(line), 'stdout'));
}

const item = (stage: 'started' | 'updated' | 'completed', inner: object) => ({
  type: `item.${stage}`,
  item: { id: 'i1', ...inner },
});

describe('text', () => {
  const message = (text: string) => ({ type: 'agent_message', text });

  test('that grows is reported piece by piece, each piece once', () => {
    const lines = [
      item('started', message('')),
      item('updated', message('one')),
      item('updated', message('one, two')),
      item('completed', message('one, two')),
    ];
    assert.deepEqual(read(...lines), [
      { type: 'text', text: 'one' },
      { type: 'text', text: ', two' },
    ]);
  });

  test('that was rewritten is reported again in full', () => {
    assert.deepEqual(read(item('updated', message('one')), item('completed', message('two'))), [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]);
  });

  test('is the answer of the turn if it is the last one', () => {
    assert.deepEqual(
      read(item('completed', message('first')), item('completed', message('last')), { type: 'turn.completed' }).at(-1),
      { type: 'turnEnded', result: { isError: false, reason: 'completed', text: 'last' } },
    );
  });

  test('of reasoning is thinking', () => {
    assert.deepEqual(read(item('completed', { type: 'reasoning', text: 'hm' })), [{ type: 'thinking', text: 'hm' }]);
  });
});

describe('a tool', () => {
  const command = { type: 'command_execution', command: 'make', aggregated_output: '', exit_code: null, status: 'in_progress' };
  const call = { type: 'toolCall', callId: 'i1', name: 'command_execution', input: { command: 'make' } };

  test('is called once, and its result has a non-zero exit code', () => {
    const more = { ...command, aggregated_output: 'so far' };
    const done = { ...command, aggregated_output: 'made\n', exit_code: 2, status: 'failed' };
    assert.deepEqual(read(item('started', command), item('updated', more), item('completed', done)), [
      call,
      { type: 'toolResult', callId: 'i1', output: 'made\n[exit code 2]', isError: true },
    ]);
  });

  test('that was declined is an error', () => {
    assert.deepEqual(read(item('completed', { ...command, status: 'declined' })), [
      call,
      { type: 'toolResult', callId: 'i1', output: '', isError: true },
    ]);
  });

  test('that appears only when it has completed is reported as called, too', () => {
    assert.deepEqual(read(item('completed', { type: 'web_search', query: 'sluice' })), [
      { type: 'toolCall', callId: 'i1', name: 'web_search', input: { query: 'sluice' } },
      { type: 'toolResult', callId: 'i1', output: '', isError: false },
    ]);
  });

  test('of an MCP server has its name, its arguments and its answer', () => {
    const tool = { type: 'mcp_tool_call', server: 'files', tool: 'read', arguments: { path: 'a' } };
    const answered = {
      ...tool,
      result: { content: [{ type: 'text', text: 'one' }, { type: 'image' }] },
      error: null,
      status: 'completed',
    };
    const refused = { ...tool, result: null, error: { message: 'no such file' }, status: 'failed' };
    const results = read(item('completed', answered), item('completed', refused)).filter((each) => each.type === 'toolResult');
    assert.deepEqual(read(item('started', tool)), [{ type: 'toolCall', callId: 'i1', name: 'files.read', input: { path: 'a' } }]);
    assert.deepEqual(results, [
      { type: 'toolResult', callId: 'i1', output: 'one\n[image]', isError: false },
      { type: 'toolResult', callId: 'i1', output: 'no such file', isError: true },
    ]);
  });
});

test('a todo list is a status', () => {
  const list = (...done: readonly boolean[]) => ({
    type: 'todo_list',
    items: done.map((completed, at) => ({ text: `task ${at}`, completed })),
  });
  assert.deepEqual(
    read(item('started', list(false, false)), item('updated', list(true, false)), item('completed', list(true, true))),
    [
      { type: 'status', status: '0 of 2 tasks done, next: task 0' },
      { type: 'status', status: '1 of 2 tasks done, next: task 1' },
      { type: 'status', status: '2 of 2 tasks done' },
    ],
  );
});

test('an error item is a status, not a failure', () => {
  assert.deepEqual(read(item('completed', { type: 'error', message: 'deprecated' })), [{ type: 'status', status: 'deprecated' }]);
});

test('an error line does not end the turn: it may be an attempt to reconnect, and turn.failed follows a fatal one', () => {
  const error = (message: string) => ({ type: 'error', message });
  assert.deepEqual(
    read(error('Reconnecting... 2/5 (timed out)'), error('gone'), { type: 'turn.failed', error: { message: 'gone' } }),
    [
      { type: 'retry', attempt: 2, maxAttempts: 5, problem: 'timed out' },
      { type: 'status', status: 'gone' },
      { type: 'turnEnded', result: { isError: true, reason: 'failed', text: 'gone' } },
    ],
  );
});

test('usage counts every token once, under the name of the model if it is known', () => {
  const usage = {
    input_tokens: 100,
    cached_input_tokens: 60,
    cache_write_input_tokens: 10,
    output_tokens: 7,
    reasoning_output_tokens: 5,
  };
  const line = JSON.stringify({ type: 'turn.completed', usage });
  const counts = { inputTokens: 30, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 10 };
  assert.deepEqual(
    [codex(), codex({ model: 'gpt-5' })].map((adapter) => adapter.createReader().read(line, 'stdout')[0]),
    [
      { type: 'usage', usage: { models: { unknown: counts } } },
      { type: 'usage', usage: { models: { 'gpt-5': counts } } },
    ],
  );
});

test('unknown lines are passed on whole', () => {
  const lines = [
    { type: 'thread.forked' },
    item('completed', { type: 'collab_tool_call' }),
    { type: 'item.completed' },
    { type: 'thread.started' },
  ];
  assert.deepEqual(
    read(...lines),
    lines.map((line) => ({ type: 'raw', stream: 'stdout', line })),
  );
});
