// What the lines of claude mean, one rule at a time, with hand-written lines. What it really prints is in transcripts.test.ts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AdapterEvent } from '#src/runner/agent-event.js';
import { claude } from '#src/runner/adapters/claude.js';

/** The events of these lines, read by a new reader. */
function read(...lines: readonly unknown[]): AdapterEvent[] {
  const reader = claude().createReader();
  return lines.flatMap((line) => reader.read(typeof line === 'string' ? line : JSON.stringify(line), 'stdout'));
}

/** Every line of the program names its session. */
const of = { session_id: 's1', uuid: 'u1', parent_tool_use_id: null };
const init = { type: 'system', subtype: 'init', session_id: 's1', model: 'opus' };
const assistant = (id: string, ...content: readonly unknown[]) => ({ type: 'assistant', message: { id, content }, ...of });
const user = (...content: readonly unknown[]) => ({ type: 'user', message: { role: 'user', content }, ...of });
const event = (inner: object, more: object = {}) => ({ type: 'stream_event', event: inner, ...of, ...more });
const begin = (id: string) => event({ type: 'message_start', message: { id } });
const delta = (text: string, index = 0) => event({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } });
const text = (value: string) => ({ type: 'text', text: value });
const raw = (line: unknown) => ({ type: 'raw', stream: 'stdout', line });

describe('the session', () => {
  test('is reported once, although every turn begins with it', () => {
    assert.deepEqual(read(init, init), [{ type: 'session', sessionId: 's1', model: 'opus' }]);
  });

  test('is reported again when it changes', () => {
    assert.deepEqual(
      read(init, { ...init, session_id: 's2' }, init).map((each) => each.type === 'session' && each.sessionId),
      ['s1', 's2', 's1'],
    );
  });
});

describe('text', () => {
  test('is reported once when it was streamed before', () => {
    assert.deepEqual(read(begin('m1'), delta('hel'), delta('lo'), assistant('m1', text('hello'))), [text('hel'), text('lo')]);
  });

  test('is taken from the message when nothing was streamed', () => {
    assert.deepEqual(read(assistant('m1', text('hello'))), [text('hello')]);
  });

  test('of a message that was not streamed is reported although another message was streamed', () => {
    assert.deepEqual(read(begin('m1'), delta('one'), assistant('m2', text('two')), assistant('m1', text('one'))), [
      text('one'),
      text('two'),
    ]);
  });

  test('of a block that was not streamed is reported although another block of its message was', () => {
    assert.deepEqual(read(begin('m1'), delta('one'), assistant('m1', text('one')), assistant('m1', text('two'))), [
      text('one'),
      text('two'),
    ]);
  });

  test('is reported once when the start of its message was lost', () => {
    const next = event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'two' } }, { api_message_id: 'm2' });
    assert.deepEqual(read(delta('one'), assistant('m1', text('one'))), [text('one')]);
    assert.deepEqual(read(begin('m1'), delta('one'), next, assistant('m2', text('two'))), [text('one'), text('two')]);
  });

  test('and thinking are distinguished and counted separately', () => {
    const thought = { type: 'thinking', thinking: 'hm' };
    const thinking = event({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } });
    assert.deepEqual(read(begin('m1'), thinking, assistant('m1', thought), delta('yes', 1), assistant('m1', text('yes'))), [
      { type: 'thinking', text: 'hm' },
      text('yes'),
    ]);
    assert.deepEqual(read(assistant('m1', thought, text('yes'))), [{ type: 'thinking', text: 'hm' }, text('yes')]);
  });

  test('of a subagent is not part of the answer and is passed on whole, its tool calls as calls', () => {
    const below = { ...assistant('m1', text('below')), parent_tool_use_id: 't1' };
    const call = { ...assistant('m1', { type: 'tool_use', id: 't2', name: 'Bash', input: {} }), parent_tool_use_id: 't1' };
    assert.deepEqual(read(below, call), [raw(below), { type: 'toolCall', callId: 't2', name: 'Bash', input: {} }]);
  });

  test('about a failed request is a status, because it is not from the model', () => {
    const failed = { ...assistant('m1', text('API Error: 400')), error: 'invalid_request' };
    assert.deepEqual(read(failed), [{ type: 'status', status: 'API Error: 400', isTransient: true }]);
  });
});

describe('a tool', () => {
  const result = (content: unknown, more: object = {}) => ({ type: 'tool_result', tool_use_id: 't1', content, ...more });

  test('is called once, with its whole input', () => {
    const start = event({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 't1', name: 'Bash', input: {} },
    });
    const part = event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } });
    const whole = assistant('m1', { type: 'tool_use', id: 't1', name: 'Bash', input: { a: 1 } });
    assert.deepEqual(read(begin('m1'), start, part, whole), [{ type: 'toolCall', callId: 't1', name: 'Bash', input: { a: 1 } }]);
  });

  test('returns a text, or a list of texts and other parts', () => {
    const list = [text('one'), { type: 'image', source: {} }, text('two')];
    assert.deepEqual(read(user(result('out')), user(result(list, { is_error: true }))), [
      { type: 'toolResult', callId: 't1', output: 'out', isError: false },
      { type: 'toolResult', callId: 't1', output: 'one\n[image]\ntwo', isError: true },
    ]);
  });

  test('without content returns its stdout and stderr', () => {
    const line = { ...user(result(undefined)), tool_use_result: { stdout: 'out', stderr: 'err' } };
    assert.deepEqual(read(line), [{ type: 'toolResult', callId: 't1', output: 'out\nerr', isError: false }]);
  });

  test('asks for a permission', () => {
    const request = { subtype: 'can_use_tool', tool_name: 'Bash', input: { command: 'ls' }, tool_use_id: 't1' };
    assert.deepEqual(read({ type: 'control_request', request_id: 'r1', request }), [
      { type: 'permission', requestId: 'r1', toolName: 'Bash', input: { command: 'ls' } },
    ]);
  });
});

describe('a result', () => {
  const model = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadInputTokens: 2, cacheCreationInputTokens: 3 });
  const result = (more: object) => ({
    is_error: false,
    terminal_reason: 'completed',
    subtype: 'success',
    result: 'ok',
    type: 'result',
    ...more,
  });
  const ended = (isError: boolean, reason: string, answer: string) => ({
    type: 'turnEnded',
    result: { isError, reason, text: answer },
  });
  const usages = (...lines: readonly unknown[]) => read(...lines).flatMap((each) => (each.type === 'usage' ? [each.usage] : []));

  test('has the totals of the session, which replace the previous ones', () => {
    const counts = (inputTokens: number) => ({ inputTokens, outputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3 });
    const turns = [
      result({ modelUsage: { opus: model(10) }, usage: { input_tokens: 10 }, total_cost_usd: 0.1 }),
      result({ modelUsage: { opus: model(30), haiku: model(5) }, usage: { input_tokens: 20 }, total_cost_usd: 0.3 }),
    ];
    assert.deepEqual(usages(...turns), [
      { models: { opus: counts(10) }, costUsd: 0.1 },
      { models: { opus: counts(30), haiku: counts(5) }, costUsd: 0.3 },
    ]);
  });

  test('with only the usage of its turn is added to those before', () => {
    const turn = result({
      usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 2, cache_creation_input_tokens: 3 },
    });
    const counts = (times: number) => ({
      inputTokens: 10 * times,
      outputTokens: times,
      cacheReadTokens: 2 * times,
      cacheWriteTokens: 3 * times,
    });
    assert.deepEqual(usages(init, turn, turn), [{ models: { opus: counts(1) } }, { models: { opus: counts(2) } }]);
    assert.deepEqual(usages(turn), [{ models: { unknown: counts(1) } }]);
  });

  test('without a model reports no usage, because the session may already have some', () => {
    assert.deepEqual(usages(result({ modelUsage: {}, usage: { input_tokens: 0 }, total_cost_usd: 0 })), []);
  });

  test('is an error when is_error is true, although its subtype is success', () => {
    assert.deepEqual(read(result({ is_error: true, terminal_reason: 'api_error', result: 'API Error: 400' })), [
      ended(true, 'api_error', 'API Error: 400'),
    ]);
  });

  test('is an error when its reason means failure', () => {
    assert.deepEqual(
      read(result({ terminal_reason: 'model_error' }), result({ is_error: undefined, terminal_reason: 'aborted_tools' })),
      [ended(true, 'model_error', 'ok'), ended(true, 'aborted_tools', 'ok')],
    );
  });

  test('of an interrupted turn has no text, and none of the program’s internal diagnostics', () => {
    const line = {
      subtype: 'error_during_execution',
      is_error: true,
      terminal_reason: 'aborted_streaming',
      errors: ['[ede_diagnostic] x'],
    };
    assert.deepEqual(read({ type: 'result', ...line }), [ended(true, 'aborted_streaming', '')]);
  });

  test('without a reason takes its subtype as the reason, and its errors as the text', () => {
    const line = { type: 'result', subtype: 'error_during_execution', is_error: true, errors: ['No conversation found', 'x'] };
    assert.deepEqual(read(line, { type: 'result', subtype: 'success' }), [
      ended(true, 'error_during_execution', 'No conversation found\nx'),
      ended(false, 'success', ''),
    ]);
  });

  test('of a turn that the program started itself does not end ours', () => {
    assert.deepEqual(read(result({ origin: { kind: 'task-notification' } }), result({ origin: { kind: 'human' } })), [
      { type: 'status', status: 'ended a turn it started itself: task-notification' },
      ended(false, 'completed', 'ok'),
    ]);
  });
});

test('an interrupt and its confirmation are statuses', () => {
  const receipt = {
    type: 'control_response',
    response: { subtype: 'success', request_id: 'r1', response: { still_queued: [] } },
  };
  const refusal = { type: 'control_response', response: { subtype: 'error', request_id: 'r1', error: 'no turn' } };
  assert.deepEqual(read(receipt, refusal, user(text('[Request interrupted by user]'))), [
    { type: 'status', status: 'control request: success', isTransient: true },
    { type: 'status', status: 'control request: error, no turn' },
    { type: 'status', status: '[Request interrupted by user]' },
  ]);
});

test('our own lines are not events when a terminal echoes them', () => {
  const adapter = claude();
  const request = { type: 'permission', requestId: 'r1', toolName: 'Bash', input: {} } as const;
  const ours = [
    adapter.encodePrompt('hi'),
    adapter.encodeInterrupt?.('r2'),
    adapter.encodePermission?.(request, { behavior: 'allow' }),
    adapter.encodePermission?.(request, { behavior: 'deny', message: 'no' }),
  ];
  assert.deepEqual(read(...ours), []);
});

test('a permission request can be withdrawn', () => {
  assert.deepEqual(read({ type: 'control_cancel_request', request_id: 'r1' }), [
    { type: 'permissionWithdrawn', requestId: 'r1' },
  ]);
});

test('unknown lines are passed on whole', () => {
  const lines = [
    { type: 'system', subtype: 'compact_boundary', deep: { er: [1, null] } },
    { type: 'system', subtype: 'status', status: null, compact_result: 'success' },
    { type: 'control_cancel_request' },
    { type: 'brand_new' },
    { no: 'type' },
    event({ type: 'content_block_delta', delta: { type: 'citations_delta', citation: {} } }),
    user(text('a prompt replayed')),
    assistant('m1', { type: 'server_tool_use', id: 'x' }),
  ];
  assert.deepEqual(read(...lines), lines.map(raw));
});
