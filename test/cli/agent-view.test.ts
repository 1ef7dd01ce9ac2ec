// A run formatted for people, line by line.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RunView } from '#src/cli/agent/view.js';
import type { AgentEvent, Outcome } from '#src/runner/index.js';

type Shown = Parameters<RunView['show']>[0];
type Unstamped<T> = T extends AgentEvent ? Omit<T, 'seq' | 'at' | 'turn'> : T;

function shown(...events: readonly Unstamped<Shown>[]): string {
  const view = new RunView({ isColoured: false });
  return events.map((event) => view.show({ seq: 1, at: 0, turn: 1, ...event } as Shown)).join('');
}

const used = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4 };
const ok = { isError: false, reason: 'completed', text: '' };

describe('a run', () => {
  test('shows text as it arrives, and starts a line for everything else', () => {
    assert.equal(
      shown(
        { type: 'turnStarted', prompt: 'say\n  hello' },
        { type: 'session', sessionId: 's', model: 'm' },
        { type: 'text', text: 'hel' },
        { type: 'text', text: 'lo' },
        { type: 'toolCall', callId: '1', name: 'shell', input: { command: 'ls' } },
        { type: 'toolResult', callId: '1', output: 'a\nb', isError: false },
        { type: 'toolResult', callId: '2', output: 'no', isError: true },
        { type: 'text', text: 'done\n' },
        { type: 'turnEnded', result: ok },
      ),
      '> say hello\nsession s, m\nhello\n⚙ shell {"command":"ls"}\n  ✓ a b\n  ✗ no\ndone\n',
    );
  });

  test('sets thinking apart from the answer, on separate lines', () => {
    const thoughts: readonly Unstamped<Shown>[] = [
      { type: 'text', text: 'So' },
      { type: 'thinking', text: 'First' },
      { type: 'status', status: 'thinking, about 3 tokens', isTransient: true },
      { type: 'thinking', text: ' this.\n\nThen' },
      { type: 'thinking', text: ' that.' },
      { type: 'text', text: 'The answer' },
      { type: 'thinking', text: 'done\n' },
      { type: 'text', text: '.\n' },
    ];
    assert.equal(shown(...thoughts), 'So\nthinking: First this.\n\nthinking: Then that.\nThe answer\nthinking: done\n.\n');
    const view = new RunView({ isColoured: true });
    assert.equal(
      thoughts.map((event) => view.show({ seq: 1, at: 0, turn: 1, ...event } as Shown)).join(''),
      'So\n  <First>< this.>\n\n  <Then>< that.>\nThe answer\n  <done>\n.\n'
        .replaceAll('<', '\u001b[90m')
        .replaceAll('>', '\u001b[39m'),
    );
  });

  test('shows an answer that arrives only with the end of the turn', () => {
    const late = { isError: false, reason: 'completed', text: 'late' };
    assert.equal(
      shown(
        ...[{ type: 'turnStarted', prompt: 'a' } as const, { type: 'turnEnded', result: late } as const],
        ...[{ type: 'turnStarted', prompt: 'b' } as const, { type: 'text', text: 'early' } as const],
        { type: 'turnEnded', result: late },
      ),
      '> a\nlate\n> b\nearly\n',
    );
  });

  test('ends a turn with the tokens and the cost of the session so far', () => {
    const models = { one: used, other: used };
    assert.equal(
      shown(
        { type: 'usage', usage: { models, costUsd: 0.05352 } },
        { type: 'text', text: 'x' },
        { type: 'turnEnded', result: ok },
      ),
      'x\n20 in, 40 out, 14 cached, $0.0535\n',
    );
    assert.equal(shown({ type: 'usage', usage: { models: {} } }, { type: 'turnEnded', result: ok }), '0 in, 0 out, 0 cached\n');
  });

  test('shows permission requests, rate limits, retries, gaps and failures', () => {
    assert.equal(
      shown(
        { type: 'permission', requestId: 'r', toolName: 'shell', input: 'rm' },
        { type: 'rateLimit', state: 'warning' },
        { type: 'rateLimit', state: 'block', resetsAt: 0 },
        { type: 'retry', attempt: 2, problem: 'overloaded' },
        { type: 'gap', missedEvents: 7 },
        { type: 'status', status: 'requesting', isTransient: true },
        { type: 'status', status: 'waiting 300 s for a rate limit' },
        { type: 'status', status: 'session s could not be resumed; starting a new one' },
        { type: 'status', status: 'the log can no longer be written: no space left' },
        { type: 'permission', requestId: 'r', toolName: 'shell', input: undefined },
        { type: 'turnEnded', result: { isError: true, reason: 'api_error', text: '' } },
      ),
      [
        '? wants to use shell "rm"',
        'a rate limit is near',
        'rate limit reached until 1970-01-01T00:00:00.000Z',
        'retry 2: overloaded',
        '7 events are missing here',
        'waiting 300 s for a rate limit',
        'session s could not be resumed; starting a new one',
        'the log can no longer be written: no space left',
        '? wants to use shell ',
        'the turn failed: api_error',
        '',
      ].join('\n'),
    );
  });

  test('folds long lines, and shows lines that the adapter did not understand', () => {
    assert.equal(shown({ type: 'raw', stream: 'stdout', line: { a: 'x'.repeat(200) } }), `{"a":"${'x'.repeat(94)}…\n`);
    assert.equal(shown({ type: 'raw', stream: 'stderr', line: 'plain' }), 'plain\n');
  });

  test('makes control characters from the agent visible, so that a terminal obeys none of them', () => {
    const clear = '\x1b[2J';
    const clipboard = '\x1b]52;c;aGVsbG8=\x07';
    const title = '\u009d0;title\u009c';
    assert.equal(shown({ type: 'text', text: `a${clear}\tb\r\nc\u202e\n` }), 'a\\x1b[2J\tb\nc\\u202e\n');
    assert.equal(shown({ type: 'thinking', text: `${clipboard}\n` }), 'thinking: \\x1b]52;c;aGVsbG8=\\x07\n');
    assert.equal(shown({ type: 'turnStarted', prompt: title }), '> \\x9d0;title\\x9c\n');
    assert.equal(shown({ type: 'session', sessionId: title, model: clear }), 'session \\x9d0;title\\x9c, \\x1b[2J\n');
    assert.equal(shown({ type: 'toolCall', callId: '1', name: clear, input: title }), '⚙ \\x1b[2J "\\x9d0;title\\x9c"\n');
    assert.equal(shown({ type: 'toolResult', callId: '1', output: clear, isError: false }), '  ✓ \\x1b[2J\n');
    assert.equal(shown({ type: 'retry', attempt: 1, problem: clear }), 'retry 1: \\x1b[2J\n');
    assert.equal(shown({ type: 'raw', stream: 'stdout', line: clear }), '\\x1b[2J\n');
    assert.equal(
      shown({ type: 'turnEnded', result: { isError: true, reason: 'x', text: clear } }),
      'the turn failed: \\x1b[2J\n',
    );
  });

  test('ends with its outcome, how its program exited, and how to resume', () => {
    const exit = { reason: 'exited', outputComplete: true, droppedBytes: 0, startedAt: 0, endedAt: 1 } as const;
    const last = (outcome: Outcome) => shown({ type: 'ended', outcome });
    assert.equal(last({ kind: 'completed', exit: { kind: 'code', code: 0, ...exit } }), 'completed; exit code 0\n');
    assert.equal(
      last({ kind: 'failed', problem: 'no room', exit: { kind: 'signal', signal: 'SIGKILL', ...exit } }),
      'failed; signal SIGKILL; no room\n',
    );
    assert.equal(last({ kind: 'lost', exit: { kind: 'lost', ...exit } }), 'lost; exit status unknown\n');

    assert.equal(shown({ type: 'ended', outcome: { kind: 'completed', sessionId: 's' } }), 'completed\n');
    assert.equal(
      shown({ type: 'ended', outcome: { kind: 'rateLimited', sessionId: 's', problem: 'enough', resetsAt: 0 } }),
      'rateLimited; enough; until 1970-01-01T00:00:00.000Z; resume with: sluice agent resume s "…"\n',
    );
  });
});
