// The options of `sluice agent run` for its program: a terminal, a path, labels and timeouts.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ProcessStatus } from '#src/protocol/index.js';
import type { LogLine } from '#src/runner/index.js';
import { collect, ended, sluice, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { fakeClaudeIn } from '../support/fake-claude.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

const jsonl = ['--adapter', 'jsonl', '--turn-end', 'type=end'];
const program = [process.execPath, fileURLToPath(new URL('../fixtures/agent.js', import.meta.url)), ''];

function linesOf(text: string): LogLine[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LogLine);
}

describe('sluice agent run', () => {
  let folder = '';
  let claude = '';
  let env: Readonly<Record<string, string>> = {};
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    claude = fakeClaudeIn(folder);
    env = { XDG_STATE_HOME: folder, HOME: folder };
  });
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  test('drives claude on a terminal with -t, prompt after prompt', async () => {
    const flags = ['--json', '-t', '--program', claude, '--prompts-from-stdin'];
    const args = ['agent', 'run', ...flags, 'help me', '--', '--api-key', 'mine'];
    const { status, stdout } = await sluice(args, { env, input: 'and again\n' });
    const events = linesOf(stdout);
    const answers = events.flatMap((event) => (event.type === 'turnEnded' ? [event.result.text] : []));
    assert.deepEqual([status, answers], [0, ['1: help me (200x50, colours off)', '1: and again (200x50, colours off)']]);
    const [first] = events.flatMap((event) => (event.type === 'launching' ? [event.argv.slice(-4)] : []));
    assert.deepEqual(first, ['--api-key', '***', '--', '<prompt>']);
  });

  test('resolves the path of a program against the folder of the shell, wherever the agent works', async () => {
    mkdirSync(join(folder, 'elsewhere'));
    const path = `./${relative(process.cwd(), claude)}`;
    const flags = ['--json', '-C', join(folder, 'elsewhere'), '--program', path];
    assert.equal((await sluice(['agent', 'run', ...flags, 'hello'], { env })).status, 0);
  });

  test('shows its labels in events, in the log, in the list of runs and in ps', async () => {
    await using server = await SluiceServer.start('unix');
    const labels = { story: '42', agent: 'coder=1' };
    const flags = ['--connect', server.url, '-C', '/', '--json', '--label', 'story=42', '--label', 'agent=coder=1'];
    const child = startSluice(['agent', 'run', ...flags, ...jsonl, 'hang', '--', ...program], { env });
    const out = collect(child.stdout);
    await eventually(() => assert.match(Buffer.concat(out).toString(), /session-1/));
    const listed = await sluice(['ps', '--json', '--connect', server.url], { env });
    const [status] = JSON.parse(listed.stdout) as ProcessStatus[];
    assert.deepEqual(status?.metadata, { labels });
    child.kill('SIGTERM');
    await ended(child);
    const events = linesOf(Buffer.concat(out).toString());
    assert.deepEqual(
      events.map((event) => event.labels),
      events.map(() => labels),
    );
    const runs = (await sluice(['agent', 'logs'], { env })).stdout.trim().split('\n');
    const line = runs.find((run) => run.endsWith('  story=42  agent=coder=1')) ?? assert.fail(runs.join('\n'));
    const [runId = ''] = line.split(' ');
    const [header] = linesOf((await sluice(['agent', 'logs', '--json', runId], { env })).stdout);
    assert.deepEqual(header?.labels, labels);
  });

  test('completes when the program does not exit, and says so', async () => {
    const flags = ['--exit-patience', '200ms', ...jsonl];
    const { status, stdout } = await sluice(['agent', 'run', ...flags, 'stay', '--', ...program], { env });
    assert.equal(status, 0);
    assert.match(
      stdout,
      /\ncompleted; signal SIGTERM; the program did not exit within 0\.2 s after its last turn, and was terminated\n$/,
    );
  });

  test('has no timeouts when they are 0', async () => {
    const flags = ['--idle-timeout', '0', '--turn-timeout', '0', '--timeout', '0', ...jsonl];
    assert.equal((await sluice(['agent', 'run', ...flags, 'hello', '--', ...program], { env })).status, 0);
  });

  test('reports contradictory flags in one line', async () => {
    const problems: readonly [readonly string[], RegExp][] = [
      [['-t', '--permissions', 'allow', 'x'], /claude never asks for permission on a terminal; leave out -t/],
      [['--adapter', 'jsonl', '--program', 'p', 'x', '--', 'q'], /--program is for claude and codex/],
      [['--label', '=42', 'x'], /--label must be K=V, got "=42"/],
    ];
    for (const [args, problem] of problems) {
      const { status, stdout, stderr } = await sluice(['agent', 'run', ...args], { env });
      assert.deepEqual([status, stdout], [125, '']);
      assert.match(stderr, problem);
      assert.match(stderr, /^sluice: [^\n]*\n$/);
    }
  });
});
