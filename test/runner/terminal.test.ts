// Agents on a terminal: typed input is not mistaken for output, and claude, which reads no prompts there, gets them as arguments.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { type AgentOptions, type AgentRun, type SeenEvent, claude, startAgent } from '#src/runner/index.js';
import { TerminalEcho } from '#src/runner/terminal-echo.js';
import { fakeClaudeIn } from '../support/fake-claude.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { fixtureAdapter } from './fixture-adapter.js';

const env = { PATH: process.env['PATH'] ?? '' };

async function eventsOf(run: AgentRun): Promise<SeenEvent[]> {
  const events: SeenEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

describe('claude on a terminal', () => {
  let folder = '';
  let program = '';
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-')));
    program = fakeClaudeIn(folder);
  });
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  const start = (client: AgentOptions['client'], prompt: string, more: Partial<AgentOptions> = {}) =>
    startAgent({ client, adapter: claude({ program }), cwd: folder, env: { ...env, HOME: folder }, prompt, io: 'pty', ...more });

  test('answers prompts in one session, with nothing typed, echoed or mistaken for a line', async () => {
    await using client = connectInProcess();
    const run = start(client, '--help\n{"type":"result"}');
    assert.equal((await run.firstTurn.result).text, '1: --help\n{"type":"result"} (200x50, colours off)');
    assert.equal((await run.send('and again').result).text, '1: and again (200x50, colours off)');
    const { kind, sessionId } = await run.finish();
    assert.deepEqual([kind, sessionId], ['completed', 'session-c']);
    const events = await eventsOf(run);
    assert.deepEqual(
      events.filter(({ type }) => type === 'raw'),
      [],
    );
    const argvs = events.flatMap((event) => (event.type === 'launching' ? [event.argv.slice(-3)] : []));
    assert.deepEqual(argvs, [
      ['--include-partial-messages', '--', '<prompt>'],
      ['--resume=session-c', '--', '<prompt>'],
    ]);
  });

  test('reports why it did not start, although a terminal has no stderr', async () => {
    await using client = connectInProcess();
    const run = start(client, 'hello', { args: ['--no-such-option'] });
    const { kind, problem } = await run.outcome;
    assert.deepEqual([kind, problem], ['neverStarted', "error: unknown option '--no-such-option'"]);
  });

  test('has its earlier sessions in the folder counted', async () => {
    await using client = connectInProcess();
    const kept = join(folder, '.claude', 'projects', folder.replaceAll(/[^a-zA-Z0-9]/g, '-'));
    const none = start(client, 'hello');
    assert.deepEqual((await none.finish()).priorSessions, { count: 0, bytes: 0 });
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, 'one two.jsonl'), 'x'.repeat(10));
    writeFileSync(join(kept, 'three.jsonl'), 'x'.repeat(20));
    writeFileSync(join(kept, 'no-session.txt'), 'x'.repeat(40));
    mkdirSync(join(kept, 'folder.jsonl'));
    const some = start(client, 'hello', { io: 'pipe' });
    const expected = { count: 2, bytes: 30 };
    assert.deepEqual((await some.finish()).priorSessions, expected);
    const launching = (await eventsOf(some)).find(({ type }) => type === 'launching');
    assert.deepEqual(launching?.type === 'launching' && launching.priorSessions, expected);
    assert.equal((await client.list()).length, 2, 'the commands that count sessions are listed');
    const homeless = start(client, 'hello', { env, envPolicy: { inherit: 'none' } });
    assert.equal((await homeless.finish()).priorSessions, undefined); // unknown, not zero
  });
});

describe('a program that reads its prompts from a terminal', () => {
  guardAgainstLeaks();

  test('is read from its first line, although the terminal echoes the prompt on the same line', async () => {
    await using client = connectInProcess();
    const script = `cat > /dev/null; echo '{"type":"session","id":"s"}'; echo '{"type":"end","reason":"completed"}'`;
    const adapter = {
      ...fixtureAdapter('one'),
      command: () => ({ argv: ['sh', '-c', script] }),
      encodePrompt: (prompt: string) => prompt,
    };
    const run = startAgent({ client, adapter, cwd: '/', env, prompt: `{"type":"end"}\n${'x'.repeat(10_000)}`, io: 'pty' });
    assert.equal((await run.firstTurn.result).reason, 'completed');
    const { kind, sessionId } = await run.finish();
    assert.deepEqual([kind, sessionId], ['completed', 's']);
    assert.deepEqual(
      (await eventsOf(run)).map(({ type }) => type),
      ['turnStarted', 'launching', 'session', 'turnEnded', 'ended'],
    );
  });

  test('has no typed input mistaken for its output', async () => {
    await using client = connectInProcess();
    const run = startAgent({ client, adapter: fixtureAdapter(), cwd: '/', env, prompt: 'typed', io: 'pty' });
    assert.equal((await run.firstTurn.result).text, 'echo 1: typed');
    assert.equal((await run.finish()).kind, 'completed');
    const lines = (await eventsOf(run)).flatMap((event) => (event.type === 'raw' ? [event.line] : []));
    assert.deepEqual(lines, []);
  });
});

describe('the echo of a terminal', () => {
  test('is each typed line once, in order, with the marks of the end key', () => {
    const echo = new TerminalEcho();
    echo.typed('one\n\n  two\n');
    echo.typed('three');
    const shown = ['zero', 'one\r', 'one', '  two', '^D\b\bthree^D', 'three'];
    assert.deepEqual(
      shown.map((line) => echo.strip(line)),
      ['zero', '', 'one', '', '', 'three'],
    );
  });

  test('precedes the program’s output on the same line when it was typed without a line feed', () => {
    const echo = new TerminalEcho();
    echo.typed('one\ntwo');
    const shown = ['one and more', 'one', 'two^D\b\b{"type":"x"}', 'two{}'];
    assert.deepEqual(
      shown.map((line) => echo.strip(line)),
      ['one and more', '', '{"type":"x"}', 'two{}'],
    );
  });
});
