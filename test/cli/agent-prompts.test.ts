// Where `sluice agent` takes its prompts from, and what it prints for scripts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InTerminal, type Ran, collect, sluice, startSluice } from '../support/cli.js';
import { fakeClaudeHome } from '../support/fake-claude.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const program = [process.execPath, fileURLToPath(new URL('../fixtures/agent.js', import.meta.url)), ''];

describe('sluice agent', () => {
  const home = fakeClaudeHome();
  guardAgainstLeaks();

  const answers = (args: readonly string[], input: string | Uint8Array = ''): Promise<Ran> =>
    sluice(['agent', 'run', '--answer-only', ...args], { env: home.env, input });
  const answered = (stdout: string): Ran => ({ status: 0, stdout, stderr: '' });

  describe('takes the first prompt', () => {
    test('from stdin with all of its lines, when it is a dash', async () => {
      assert.deepEqual(await answers(['-'], 'fix this:\n\n  a = 1\n'), answered('1: fix this:\n\n  a = 1\n'));
    });

    test('from a file with all of its lines', async () => {
      const file = join(home.folder, 'task.md');
      writeFileSync(file, '# Task\n\nümlaut\n');
      assert.deepEqual(await answers(['--prompt-file', file]), answered('1: # Task\n\nümlaut\n'));
      assert.deepEqual(await answers(['--prompt-file', '-'], 'piped'), answered('1: piped\n'));
    });

    test('from the first line of stdin, when all prompts come from there', async () => {
      assert.deepEqual(await answers(['--prompts-from-stdin'], '\none\ntwo\n'), answered('1: one\n2: two\n'));
    });

    test('from the terminal, until Ctrl-D', async () => {
      await using terminal = await InTerminal.open(['agent', 'run', '--answer-only', '-'], { env: home.env });
      await terminal.see('press Ctrl-D on an empty line to end it');
      await terminal.type('typed\rby hand\r\x04');
      assert.match((await terminal.rest()).text, /1: typed\r\nby hand\r\n$/);
    });

    test('when a session is resumed', async () => {
      const { status, stdout } = await sluice(['agent', 'resume', '--answer-only', 'session-c', '-'], {
        env: home.env,
        input: 'go\non\n',
      });
      assert.deepEqual([status, stdout], [0, '1: go\non\n']);
    });

    test('only if there is exactly one and it can be read', async () => {
      const binary = join(home.folder, 'binary');
      writeFileSync(binary, Buffer.from([0x61, 0xff]));
      const runs = readdirSync(join(home.folder, 'sluice', 'runs')).length;
      const problems: readonly [readonly string[], RegExp][] = [
        [['-'], /agent needs a prompt, as in: sluice agent run "fix the failing test"; a lone dash reads it from stdin/],
        [['--prompts-from-stdin'], /agent needs a prompt/],
        [['--prompt-file', join(home.folder, 'no-such')], /cannot read --prompt-file .*no-such: no such file or directory/],
        [['--prompt-file', binary], /--prompt-file .* is not UTF-8 text/],
        [['--prompt-file', binary, 'words'], /the prompt is either "words" or in --prompt-file .*, not both/],
        [['--prompts-from-stdin', '-'], /stdin is either the first prompt or, with --prompts-from-stdin, one prompt per line/],
        [['--json', 'x'], /--json prints every event and --answer-only none/],
      ];
      for (const [args, problem] of problems) {
        const { status, stdout, stderr } = await answers(args);
        assert.deepEqual([status, stdout], [125, ''], args.join(' '));
        assert.match(stderr, problem);
        assert.match(stderr, /^sluice: [^\n]*\n$/);
      }
      assert.equal(readdirSync(join(home.folder, 'sluice', 'runs')).length, runs);
    });
  });

  test('ends with the agent even while stdin is open and could supply more prompts', async () => {
    const args = ['agent', 'run', '--adapter', 'jsonl', '--prompts-from-stdin', 'die', '--', ...program];
    const child = startSluice(args, { env: home.env });
    const out = collect(child.stdout);
    assert.deepEqual(await once(child, 'close'), [125, null]); // its stdin was never ended
    assert.match(Buffer.concat(out).toString(), /\nneverStarted; signal SIGKILL/);
  });

  describe('prints for a script', () => {
    test('only the answer, verbatim', async () => {
      assert.deepEqual(await answers(['think first']), answered('The answer.\n'));
      assert.deepEqual(await answers(['a\u001b[1mb\r\nc']), answered('1: a\u001b[1mb\r\nc\n'));
    });

    test('errors on stderr, with a matching exit status', async () => {
      const { status, stdout, stderr } = await answers(['run into a limit']);
      assert.deepEqual([status, stdout], [75, '']);
      assert.match(stderr, /^sluice: the turn failed: limit reached\nsluice: rateLimited; exit code 0; limit reached; until /);
    });

    test('the text of a program that speaks JSON lines, from the member that holds it', async () => {
      const fixture = ['--adapter', 'jsonl', '--turn-end', 'type=end'];
      const whole = await answers([...fixture, '--text-member', 'text', 'hello', '--', ...program]);
      assert.deepEqual(whole, answered('echo 1: hello\n'));
      const pieces = 'read -r line; echo \'{"say":"one "}\'; echo \'{"say":"two"}\'; echo \'{"type":"result"}\'; read -r line';
      const joined = await answers(['--adapter', 'jsonl', '--text-member', 'say', 'x', '--', 'sh', '-c', pieces]);
      assert.equal(joined.stdout, 'one two\n');
      const { stderr } = await answers([...fixture, 'hello', '--', ...program]);
      assert.match(stderr, /--answer-only with --adapter jsonl needs --text-member/);
    });
  });

  test('ends a turn at a value that contains "="', async () => {
    const script = 'read -r line; echo \'{"kind":"b=c","text":"yes"}\'; read -r line';
    const args = ['--adapter', 'jsonl', '--text-member', 'text', '--turn-end', 'kind=b=c', 'x', '--', 'sh', '-c', script];
    assert.equal((await answers(args)).stdout, 'yes\n');
    const wrong = await answers(['--adapter', 'jsonl', '--text-member', 'text', '--turn-end', 'kind', 'x', '--', 'true']);
    assert.match(wrong.stderr, /--turn-end must be NAME=VALUE, as in type=result, got "kind"/);
  });
});
