// `sluice exec` through the built program: in a real terminal where it matters.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectInProcess } from '#src/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const envPolicy = { inherit: 'all' } as const;

/** Runs the program on pipes. */
function sluice(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** Starts the program in a terminal, as a person would. */
function inTerminal(args: readonly string[]) {
  const client = connectInProcess();
  const io = { kind: 'pty', rows: 30, cols: 90 } as const;
  return { client, started: client.start({ argv: [process.execPath, program, ...args], io, envPolicy }) };
}

describe('sluice exec', () => {
  guardAgainstLeaks();

  test('passes streams and exit code through', () => {
    assert.deepEqual(sluice(['exec', '--', 'sh', '-c', 'cat; echo err >&2; exit 3'], 'in'), {
      status: 3,
      stdout: 'in',
      stderr: 'err\n',
    });
  });

  test('exits with 128+N when a signal ended the command', () => {
    assert.equal(sluice(['exec', '--', 'sh', '-c', 'kill -s KILL $$']).status, 137);
  });

  test('exits with 127 for a program that does not exist and 126 for one that cannot be executed', () => {
    assert.deepEqual(
      [sluice(['exec', '--', 'no-such-program']).status, sluice(['exec', '--', '/etc/passwd']).status],
      [127, 126],
    );
  });

  test('says in one line what is wrong and exits with 125', () => {
    const { status, stdout, stderr } = sluice(['exec']);
    assert.deepEqual({ status, stdout }, { status: 125, stdout: '' });
    assert.match(stderr, /^sluice: .*sluice exec.*\n$/);
    assert.equal(sluice(['no-such-command']).status, 125);
  });

  test('tells its version and its usage', () => {
    assert.match(sluice(['--version']).stdout, /^\d+\.\d+\.\d+\n$/);
    assert.match(sluice(['--help']).stdout, /sluice exec -t -- bash/);
  });

  test('passes a signal on to the command and ends when it does', async () => {
    const child = spawn(
      process.execPath,
      [program, 'exec', '--', 'sh', '-c', 'trap "echo got it; exit 7" TERM; echo ready; while :; do sleep 0.05; done'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let seen = '';
    child.stdout.on('data', (piece: Buffer) => {
      seen += piece.toString();
      if (seen === 'ready\n') child.kill('SIGTERM');
    });
    const [code] = (await once(child, 'close')) as [number];
    assert.deepEqual([seen, code], ['ready\ngot it\n', 7]);
  });

  test('with -t gives the command a terminal of the size of ours, and follows its changes', async () => {
    const { client, started } = inTerminal([
      'exec',
      '-t',
      '--',
      'sh',
      '-c',
      'trap "stty size; exit" WINCH; stty size; while :; do sleep 0.05; done',
    ]);
    await using _client = client;
    await using child = await started;
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: '30 90' })).reason, 'text');
    await child.resize({ rows: 44, cols: 120 });
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: '44 120' })).reason, 'text');
  });

  test('with -t passes keys to the command: Ctrl-C interrupts it, not us', async () => {
    const { client, started } = inTerminal([
      'exec',
      '-t',
      '--',
      'sh',
      '-c',
      'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.05; done',
    ]);
    await using _client = client;
    await using child = await started;
    await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
    await child.write('\u0003');
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'interrupted' })).reason, 'text');
    const ending = await child.exit;
    assert.equal(ending.kind === 'code' && ending.code, 5);
  });

  test('with -t leaves our terminal as it was', async () => {
    const script = `before=$(stty -g); "$0" "$1" exec -t -- sh -c 'stty raw; exit 0'; [ "$before" = "$(stty -g)" ] && echo restored`;
    await using client = connectInProcess();
    const io = { kind: 'pty', rows: 24, cols: 80 } as const;
    const { stdout } = await client.run(['sh', '-c', script, process.execPath, program], { io, envPolicy });
    assert.match(stdout.text, /restored/);
  });
});
