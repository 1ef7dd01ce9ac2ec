// `sluice attach` in real terminals, several at the same time.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { Background, InTerminal, collect, ended, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

describe('sluice attach', () => {
  let background: Background;
  before(() => (background = new Background()));
  after(() => background[Symbol.asyncDispose]());
  guardAgainstLeaks();
  const attach = (...args: string[]) => InTerminal.open(['attach', ...args], { env: background.env });

  const startedAndEnded = async (args: string[], code: number) => {
    const child = startSluice(args, { env: background.env });
    const stdout = collect(child.stdout);
    child.stdin.end();
    assert.deepEqual([await ended(child), Buffer.concat(stdout).toString()], [code, '']);
  };

  test('replays, then continues live, to several clients at once; only drivers can type', async () => {
    await background.good(['exec', '-dt', '--name', 'shared', '--', 'sh', '-c', 'echo begun; cat -v']);
    await using driver = await attach('shared');
    await using other = await attach('shared');
    await using watcher = await attach('--read-only', 'shared');
    await using late = await attach('--no-replay', '--read-only', 'shared');
    for (const each of [driver, other, watcher]) await each.see('begun');
    await driver.type('from the first\r');
    for (const each of [driver, other, watcher]) await each.see('from the first\r\n');
    await watcher.type('from a watcher\r');
    await other.type('from the second\r');
    const seen = await watcher.see('from the second\r\n');
    assert.doesNotMatch(seen, /from a watcher/);
    // When it has attached is not known, so lines are sent until it shows one.
    await eventually(async () => {
      await other.type('again\r');
      const { text, reason } = await late.child.collectUntil({ deadlineMs: 500, text: 'again' });
      assert.doesNotMatch(text, /begun|from the first/);
      assert.equal(reason, 'text');
    });
    await driver.type('\u0004');
    for (const each of [driver, other, watcher, late]) assert.equal((await each.rest()).code, 0);
  });

  test('gives the process the size of the driver, even when it changes, and not that of a watcher', async () => {
    await background.good([
      'exec',
      '-dt',
      '--name',
      'sized',
      '--',
      'sh',
      '-c',
      'trap "stty size" WINCH; while :; do sleep 0.05; done',
    ]);
    await using watcher = await attach('--read-only', 'sized');
    await using driver = await attach('sized');
    await watcher.see('30 90');
    await watcher.child.resize({ rows: 11, cols: 111 });
    await driver.child.resize({ rows: 22, cols: 122 });
    assert.doesNotMatch(await watcher.see('22 122'), /11 111/);
    await background.good(['kill', 'sized']);
    assert.equal((await driver.rest()).code, 143);
  });

  test('detaches with the default keys or others, and resets the terminal', async () => {
    await background.good([
      'exec',
      '-dt',
      '--name',
      'full',
      '--',
      'sh',
      '-c',
      'printf "\\033[?1049h\\033[?1h\\033=\\033[?1002;1006h\\033[?2004h\\033[?25lscreen"; exec cat -v',
    ]);
    await using first = await attach('full');
    await first.see('screen');
    await first.type('\u0010\u0011');
    const { text, code } = await first.rest();
    assert.equal(code, 0);
    const off = ['[?1049l', '[?1l', '>', '[?1002l', '[?1006l', '[?2004l', '[?25h'].map((each) => `\x1b${each}`).join('');
    assert.equal(text, `${off}\r\r\nsluice: detached; reattach with "sluice attach full"\r\r\n`);
    await using second = await attach('--detach-keys', 'escape,q', 'full');
    await second.see('screen');
    await second.type('\u0010\u0002\r');
    await second.see('^P^B');
    await second.type('\u001bq');
    assert.equal((await second.rest()).code, 0);
    await using watcher = await attach('--read-only', 'full');
    await watcher.see('screen');
    await watcher.type('\u0003');
    assert.equal((await watcher.rest()).code, 0);
    assert.equal(await background.good(['ps', '-q', '-r']), 'full\n');
    await background.good(['kill', 'full']);
  });

  test('resets the terminal when the program is ended before it can do so itself', async () => {
    const script = 'printf "\\033[?1049h\\033[?1000hscreen"; exec sleep 600';
    await background.good(['exec', '-dt', '--name', 'ended', '--', 'sh', '-c', script]);
    await using terminal = await attach('ended');
    await terminal.see('screen');
    await background.good(['kill', 'ended']);
    assert.deepEqual(await terminal.rest(), { text: '\x1b[?1049l\x1b[?1000l', code: 143 });
  });

  test('on pipes: forwards stdin, continues after its end, forwards signals, exits as the process does', async () => {
    await background.good([
      'exec',
      '-d',
      '--name',
      'piped',
      '--',
      'sh',
      '-c',
      'trap "exit 4" TERM; while :; do read -r line && echo "got $line" >&2; sleep 0.01; done',
    ]);
    const child = startSluice(['attach', 'piped'], { env: background.env });
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    child.stdin.end('one\ntwo\n');
    await eventually(() => assert.equal(Buffer.concat(stderr).toString(), 'got one\ngot two\n'));
    child.kill('SIGTERM');
    assert.deepEqual([await ended(child), Buffer.concat(stdout).length], [4, 0]);
  });

  test('without replay, of a process that has ended: exits as it did', async () => {
    await background.good(['exec', '-d', '--name', 'past', '--', 'sh', '-c', 'echo said; exit 3']);
    await startedAndEnded(['wait', 'past'], 3);
    await startedAndEnded(['attach', '--no-replay', 'past'], 3);
  });

  test('on pipes in a terminal: Ctrl-D leaves the process running', async () => {
    await background.good(['exec', '-d', '--name', 'lines', '--', 'cat']);
    await using terminal = await attach('lines');
    await terminal.type('hello\r');
    await terminal.see('hello\r\nhello\r\n');
    await terminal.type('\u0004');
    assert.deepEqual(await terminal.rest(), {
      text: 'sluice: detached; reattach with "sluice attach lines"\r\r\n',
      code: 0,
    });
    assert.equal(await background.good(['ps', '-q', '-r']), 'lines\n');
    await background.good(['send', '--eof', 'lines']);
  });

  test('exits with 125 when the server is lost', async () => {
    await using server = await SluiceServer.start('unix');
    const flags = ['--connect', server.url];
    await background.good(['exec', '-d', ...flags, '--name', 'lost', '--', 'sh', '-c', 'echo begun; exec sleep 600']);
    const child = startSluice(['attach', '--read-only', ...flags, 'lost'], { env: background.env });
    const stderr = collect(child.stderr);
    await once(child.stdout, 'data');
    server.child.kill('SIGKILL');
    assert.equal(await ended(child), 125);
    assert.match(Buffer.concat(stderr).toString(), /^sluice: the server was lost/);
  });
});
