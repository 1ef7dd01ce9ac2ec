// `sluice agent run` on a terminal: its sign of life, and its permission questions.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { InTerminal, sluice } from '../support/cli.js';
import { fakeClaudeHome } from '../support/fake-claude.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('sluice agent at a terminal', () => {
  const home = fakeClaudeHome();
  guardAgainstLeaks();

  const open = (...args: readonly string[]) => InTerminal.open(['agent', 'run', ...args], { env: home.env });

  test('dims and indents thinking, but not the answer', async () => {
    await using terminal = await open('think first');
    const gray = String.raw`\u001b\[90m`;
    const { text } = await terminal.rest();
    assert.match(text, new RegExp(`\n  ${gray}First this\\..*\r\n  ${gray}Then that\\..*\r\nThe answer\\.\r\n`, 'u'));
  });

  test('counts the seconds of silence, shows what it waits for, and erases that afterwards', async () => {
    await using terminal = await open('fall silent');
    await terminal.see(/\.\.\. 1 s, requesting/);
    const seen = await terminal.see(/\.\.\. 2 s, requesting/);
    await terminal.type('\x03');
    const rest = await terminal.rest();
    assert.equal(rest.code, 130);
    const text = seen + rest.text;
    const afterSign = text.slice(text.lastIndexOf(' s, requesting'));
    // The cursor moves back, everything after it is erased, and only then is more printed.
    assert.match(
      afterSign,
      /^ s, requesting\p{Cc}\[39m\p{Cc}\[\d+D(\^C)?\p{Cc}\[K\p{Cc}\[31mthe turn failed: aborted_streaming/u,
    );
    assert.match(afterSign, /interrupted; exit code 0/);
  });

  test('shows no sign of life and no colours without a terminal', async () => {
    const script = 'read -r line; sleep 2.5; echo \'{"type":"result"}\'; read -r line; exit 0'; // long enough for a sign
    const { stdout } = await sluice(['agent', 'run', '--adapter', 'jsonl', 'wait', '--', 'sh', '-c', script], { env: home.env });
    assert.equal(stdout, '> wait\ncompleted; exit code 0\n');
    const { stdout: thought } = await sluice(['agent', 'run', 'think first'], { env: home.env });
    assert.match(thought, /\nthinking: First this\.\nthinking: Then that\.\nThe answer\.\n/);
  });

  describe('asks for each permission', () => {
    const question = /wants to use Bash \{"command":"true"\}.*Allow it\? \(y\/n\) /su;
    const ask = ['--permissions', 'ask'];

    test('and obeys the answer', async () => {
      for (const [keys, answer] of [
        ['y\r', 'allow'],
        ['n\r', 'deny'],
        ['\x04', 'deny'],
      ] as const) {
        await using terminal = await open(...ask, 'use a tool');
        await terminal.see(question);
        await terminal.type(keys);
        const { text, code } = await terminal.rest();
        assert.deepEqual([code, /it was \w+/.exec(text)?.[0]], [0, `it was ${answer}`]);
      }
    });

    test('again when it does not understand the answer', async () => {
      await using terminal = await open(...ask, '--json', 'use a tool');
      await terminal.see(question);
      await terminal.type('perhaps\r');
      await terminal.see('Please answer y or n: ');
      await terminal.type('yes\r');
      assert.match((await terminal.rest()).text, /it was allow/);
    });

    test('until the turn ends, for example by Ctrl-C', async () => {
      await using terminal = await open(...ask, 'use a tool');
      await terminal.see(question);
      await terminal.type('\x03');
      const { text, code } = await terminal.rest();
      assert.equal(code, 130);
      assert.match(text, /\r\n.*interrupted; /su);
    });

    test('until the program withdraws its request', async () => {
      await using terminal = await open(...ask, 'ask and think better of it');
      await terminal.see(/Allow it\? \(y\/n\) .*Never mind\./su);
      await terminal.type('\x03');
      assert.equal((await terminal.rest()).code, 130);
    });

    test('or reports at the start that it cannot', async () => {
      const problems: readonly [readonly string[], RegExp][] = [
        [['x'], /--permissions ask needs a terminal on stdin and stderr; use allow or deny in a script/],
        [['--adapter', 'codex', 'x'], /--permissions ask does not work with codex, which never asks for permission/],
        [['-'], /--permissions ask reads your answers from stdin, so prompts cannot come from there/],
        [['--prompt-file', '-'], /prompts cannot come from there/],
        [['--prompts-from-stdin', 'x'], /prompts cannot come from there/],
      ];
      const nowhere = { ...home.env, XDG_STATE_HOME: join(home.folder, 'nowhere') };
      for (const [args, problem] of problems) {
        const { status, stdout, stderr } = await sluice(['agent', 'run', ...ask, ...args], { env: nowhere });
        assert.deepEqual([status, stdout], [125, '']);
        assert.match(stderr, problem);
      }
      assert.ok(!readdirSync(home.folder).includes('nowhere'));
    });
  });
});
