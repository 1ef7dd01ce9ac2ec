// `sluice exec -t` in a real terminal, as a user sees it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { InTerminal, sluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { SluiceServer, program } from '../support/sluice-server.js';

/** Runs the program from a shell that prints whether the terminal is unchanged afterwards. */
function fromShell(args: string): Promise<InTerminal> {
  const script = `before=$(stty -g); "$0" "$1" ${args}; echo "status $?"; [ "$before" = "$(stty -g)" ] && echo as it was`;
  return InTerminal.open([], { command: ['sh', '-c', script, process.execPath, program] });
}

describe('sluice exec -t', () => {
  guardAgainstLeaks();

  test('gives the command a terminal of the size of ours, and follows its changes', async () => {
    const script = 'trap "stty size; exit" WINCH; stty size; while :; do sleep 0.05; done';
    await using terminal = await InTerminal.open(['exec', '-t', '--', 'sh', '-c', script]);
    await terminal.see('30 90');
    await terminal.child.resize({ rows: 44, cols: 120 });
    await terminal.see('44 120');
  });

  test('accepts -it, as other programs do', async () => {
    await using terminal = await InTerminal.open([
      'exec',
      '-it',
      '--',
      'sh',
      '-c',
      '[ -t 0 ] && echo ready; read -r x; echo "got $x"',
    ]);
    await terminal.see('ready');
    await terminal.type('it\r');
    assert.match((await terminal.rest()).text, /\ngot it\r\n$/);
  });

  test('forwards lines with -i alone, and the end of input', async () => {
    await using terminal = await InTerminal.open(['exec', '-i', '--', 'sh', '-c', '[ -t 0 ] || echo ready; cat; echo over']);
    await terminal.see('ready');
    await terminal.type('line\r');
    await terminal.see('line\r\nline\r\n');
    await terminal.type('\u0004');
    assert.deepEqual(await terminal.rest(), { text: 'over\r\n', code: 0 });
  });

  test('passes output through unchanged: one carriage return before a line feed', async () => {
    await using terminal = await InTerminal.open(['exec', '-t', '--', 'printf', 'one\ntwo\n']);
    assert.deepEqual(await terminal.rest(), { text: 'one\r\ntwo\r\n', code: 0 });
  });

  test('passes keys to the command: Ctrl-C interrupts it, not us', async () => {
    const script = 'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.05; done';
    await using terminal = await InTerminal.open(['exec', '-t', '--', 'sh', '-c', script]);
    await terminal.see('ready');
    await terminal.type('\u0003');
    const { text, code } = await terminal.rest();
    assert.match(text, /interrupted/);
    assert.equal(code, 5);
  });

  test('passes the kind of terminal on to the command', async () => {
    await using terminal = await InTerminal.open(['exec', '-t', '--no-inherit-env', '--', 'sh', '-c', 'echo "$TERM"'], {
      env: { TERM: 'vt220' },
    });
    assert.equal((await terminal.rest()).text, 'vt220\r\n');
  });

  test('gives the command a terminal even when our stdin and stdout are not terminals', async () => {
    const { status, stdout } = await sluice(
      ['exec', '-t', '--', 'sh', '-c', 'read line; echo "$line"; [ -t 0 ] && [ -t 1 ] && stty size'],
      {
        input: 'typed\n',
      },
    );
    assert.deepEqual({ status, stdout }, { status: 0, stdout: 'typed\r\ntyped\r\n24 80\r\n' });
  });

  for (const [how, args, status] of [
    ['a command that leaves its own in raw mode', `exec -t -- sh -c 'stty raw; exit 3'`, 3],
    ['a command that does not exist', 'exec -t -- no-such-program', 127],
    ['a server that cannot be reached', 'exec -t --connect unix:///no/such/socket -- true', 125],
  ] as const) {
    test(`leaves our terminal as it was after ${how}`, async () => {
      await using shell = await fromShell(args);
      assert.match((await shell.rest()).text, new RegExp(`status ${status}\\r\\nas it was\\r\\n$`));
    });
  }

  for (const [signal, status] of [
    ['TERM', 143],
    ['HUP', 129],
    ['INT', 130],
  ] as const) {
    test(`leaves our terminal as it was when SIG${signal} ends it`, async () => {
      // From inside the command, the shell's pid leads to ours.
      await using shell = await fromShell(`exec -t -- sh -c 'kill -${signal} $PPID; exec sleep 600'`);
      assert.match((await shell.rest()).text, new RegExp(`status ${status}\\r\\nas it was\\r\\n$`));
    });
  }

  test('on a server: detaches with the detach keys, leaves the command running, and reattaches to it', async () => {
    await using server = await SluiceServer.start('unix');
    await using terminal = await InTerminal.open(['exec', '-t', '--connect', server.url, '--name', 'shell', '--', 'sh'], {
      env: { PS1: 'ready> ' },
    });
    await terminal.see(/[$#>] /);
    await terminal.type('x=kept; echo pid=$$\r');
    const pid = Number(/pid=(\d+)/.exec(await terminal.see(/pid=\d+/))?.[1]);
    await terminal.type('\u0010\u0011');
    const { text, code } = await terminal.rest();
    const [, line = ''] = /\nsluice: detached; reattach with "(.*)"\r+\n$/.exec(text) ?? assert.fail(text);
    assert.equal(line, `sluice attach --connect ${server.url} shell`);
    assert.equal(code, 0);
    assert.deepEqual(await living([pid]), [pid]);

    await using again = await InTerminal.open(line.split(' ').slice(1));
    await again.see('pid='); // replayed
    await again.type('echo $x; exit 9\r');
    const rest = await again.rest();
    assert.match(rest.text, /\nkept\r\n/);
    assert.equal(rest.code, 9);
  });

  test('on a server: takes other detach keys, or none', async () => {
    await using server = await SluiceServer.start('unix');
    /** Waits until our terminal is raw: earlier keys would be handled by the terminal itself. */
    const start = async (keys: string, name: string) => {
      const flags = ['--connect', server.url, '--detach-keys', keys, '--name', name];
      const terminal = await InTerminal.open(['exec', '-t', ...flags, '--', 'sh', '-c', 'echo ready; exec cat -v']);
      await terminal.see('ready');
      return terminal;
    };
    await using other = await start('ctrl-a,d', 'other');
    await other.type('\u0010\u0002\r');
    await other.see('^P^B');
    await other.type('\u0001d');
    assert.equal((await other.rest()).code, 0);
    await using none = await start('', 'none');
    await none.type('\u0001d\u0010\u0011\r'); // Ctrl-Q is for the terminal itself
    await none.see('^Ad^P');
    await none.type('\u0004');
    assert.equal((await none.rest()).code, 0);
    await eventually(async () => {
      const { stdout } = await sluice(['ps', '--quiet', '--running', '--connect', server.url]);
      assert.equal(stdout, 'other\n');
    });
  });
});
