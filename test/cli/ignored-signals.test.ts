// The program as npm installs it: a shell script passes on which signals it was started to ignore, and starts Node.

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '#src/index.js';
import { Background, collect, ended } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { program } from '../support/sluice-server.js';

/** The Node that runs the tests comes first in PATH, where the program looks for it. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };

/** Runs a script that becomes the program; `$P` is its file. */
function started(script: string, more: Readonly<Record<string, string | undefined>> = {}): ChildProcessWithoutNullStreams {
  return spawn('sh', ['-c', script], { stdio: 'pipe', env: { ...env, P: program, ...more } });
}

async function ran(child: ChildProcessWithoutNullStreams): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  child.stdin.end();
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}

/** Prints when it is ready, and exits with 5 only if it lives until the next line. */
const untilLine = `sh -c 'echo ready; read -r line; echo "got $line"; exit 5'`;

async function survives(child: ChildProcessWithoutNullStreams, signals: readonly NodeJS.Signals[]): Promise<void> {
  const stdout = collect(child.stdout);
  await once(child.stdout, 'data');
  for (const signal of signals) child.kill(signal);
  child.stdin.end('a line\n');
  assert.deepEqual([await ended(child), Buffer.concat(stdout).toString()], [5, 'ready\ngot a line\n']);
}

describe('a signal that was ignored when sluice was started', () => {
  guardAgainstLeaks();

  test('neither ends exec nor reaches its command: nohup', async () => {
    await survives(started(`exec nohup "$P" exec -- ${untilLine} 2>/dev/null`), ['SIGHUP']);
  });

  test('does not end exec at a terminal, whose stdin nohup replaces with one that cannot be read', async () => {
    const script = `exec nohup "$P" exec -- sh -c 'kill -HUP $PPID; cat; echo survived' 0>/dev/null 2>/dev/null`;
    const { status, stdout } = await ran(started(script));
    assert.deepEqual([status, stdout], [0, 'survived\n']);
  });

  test('neither ends exec nor reaches its command: in the background of a script', async () => {
    // The shell starts a background command with SIGINT and SIGQUIT ignored, and its trap sends both to that command.
    const script = `trap 'kill -s INT $!; kill -s QUIT $!' USR1; exec 3<&0; "$P" exec -- ${untilLine} <&3 &
      status=129; while [ $status -gt 128 ]; do wait $!; status=$?; done; exit $status`;
    await survives(started(script), ['SIGUSR1']);
  });

  test('neither ends exec nor reaches its command, whichever it is', async () => {
    const all = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGTSTP'] as const;
    await survives(started(`trap '' HUP INT QUIT TERM USR1 USR2 TSTP; exec "$P" exec -- ${untilLine}`), all);
  });

  test('does not affect other signals', async () => {
    const child = started(`trap '' HUP; exec "$P" exec -- sh -c 'trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done'`);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    assert.equal(await ended(child), 7);
  });

  test('does not end a server, which still stops on SIGTERM', async () => {
    const child = started('exec nohup "$P" serve --listen ws://127.0.0.1:0 2>/dev/null');
    const [url] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill('SIGHUP');
    const client = await connect(url.toString().trim());
    assert.equal((await client.run(['echo', 'there'], {})).stdout.text, 'there\n');
    await client.close();
    child.kill('SIGTERM');
    assert.equal(await ended(child), 0);
  });

  test('is not ignored by the background server, which all shells share', async () => {
    await using background = new Background();
    const { status, stdout } = await ran(
      started(`trap '' HUP INT TERM; exec "$P" exec -d --name x -- sleep 600`, background.env),
    );
    assert.deepEqual([status, stdout], [0, 'x\n']);
    await background.good(['serve', '--stop']);
    assert.equal((await background.run(['ps', '-q'])).stdout, '');
  });

  test('is also ignored by a command that launches a server', async () => {
    const launcher = join(mkdtempSync(join(tmpdir(), 'sluice-')), 'launch.sh');
    writeFileSync(launcher, 'kill -s HUP $$; exec "$@"');
    const child = started(`trap '' HUP; exec "$P" exec --via "sh $L" --remote-sluice "$P" -- echo there`, { L: launcher });
    assert.deepEqual(await ran(child), { status: 0, stdout: 'there\n', stderr: '' });
    rmSync(dirname(launcher), { recursive: true });
  });

  test('is not in a variable that a command could see, nor taken from one', async () => {
    const shown = `"$P" exec -- sh -c 'echo "\${SLUICE_IGNORED_SIGNALS-none}"; kill -s USR1 $$'`;
    const child = started(`trap '' HUP; export SLUICE_IGNORED_SIGNALS=USR1; exec ${shown}`);
    const { status, stdout } = await ran(child);
    assert.deepEqual([status, stdout], [138, 'none\n']);
  });
});

if (process.platform === 'linux') {
  describe('a command of exec', () => {
    guardAgainstLeaks();

    test('ignores the signals it would ignore without sluice, on pipes and on a terminal', async () => {
      for (const signals of ['HUP', 'INT QUIT', 'PIPE TERM', 'HUP INT QUIT PIPE TERM USR1 USR2 TSTP TTIN TTOU', 'CHLD']) {
        const masks = `trap '' ${signals}; for run in '' "$P exec --" "$P exec -t --"; do $run grep SigIgn: /proc/self/status; done`;
        const { stdout } = await ran(started(masks));
        const [plain, ...others] = stdout.replaceAll('\r', '').trim().split('\n');
        const expected = signals === 'CHLD' ? 'SigIgn:\t0000000000000000' : plain;
        assert.deepEqual(others, [expected, expected], signals);
      }
    });
  });
}

describe('the program', () => {
  let folder = '';
  let copy = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice '));
    const root = join(dirname(program), '..', '..');
    copy = join(folder, 'a package', 'dist', 'bin', 'sluice.cjs');
    cpSync(dirname(program), dirname(copy), { recursive: true });
    cpSync(join(root, 'package.json'), join(folder, 'a package', 'package.json'));
    // External packages are resolved from the folder of the copy.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  });
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  test('is found through links and paths with spaces, and keeps every argument unchanged', async () => {
    const bin = join(folder, 'node_modules bin');
    mkdirSync(bin);
    symlinkSync(join('..', 'a package', 'dist', 'bin', 'sluice.cjs'), join(bin, 'sluice'));
    const args = `exec -- printf '[%s]' 'a  b' '' '*' '$HOME' '"' --env-file`;
    const expected = { status: 0, stdout: '[a  b][][*][$HOME]["][--env-file]', stderr: '' };
    assert.deepEqual(await ran(started(`exec "$P" ${args}`, { P: join(bin, 'sluice') })), expected);
    assert.deepEqual(await ran(started(`cd "$B"; exec ./sluice ${args}`, { B: bin })), expected);
    assert.deepEqual(await ran(started(`PATH="$B:$PATH"; exec sluice ${args}`, { B: bin })), expected);
  });

  test('takes --env-file as its own option, and keeps it from Node', async () => {
    const file = join(folder, 'variables');
    writeFileSync(file, 'NODE_OPTIONS=--no-such-option\nOURS=here\n');
    const child = started('exec "$P" exec --env-file "$F" -- printenv OURS', { F: file });
    assert.deepEqual(await ran(child), { status: 0, stdout: 'here\n', stderr: '' });
  });

  test('changes no variable, whatever its name', async () => {
    const names = ['name', 'value', 'got', 'mask', 'signals', 'status'];
    const script = `trap '' HUP; exec "$P" exec -- printenv ${names.join(' ')}`;
    const { stdout } = await ran(started(script, Object.fromEntries(names.map((name) => [name, `mine ${name}`]))));
    assert.equal(stdout, names.map((name) => `mine ${name}\n`).join(''));
  });

  test('detects ignored signals without /proc too', async () => {
    const blind = join(dirname(copy), 'blind.cjs');
    writeFileSync(blind, readFileSync(copy, 'utf8').replaceAll('/proc/self/status', '/no/such/file'));
    chmodSync(blind, 0o755);
    await survives(started(`trap '' HUP; exec "$P" exec -- ${untilLine}`, { P: blind }), ['SIGHUP']);
    const child = started(`exec "$P" exec -- sh -c 'trap "exit 7" HUP; echo ready; while :; do sleep 0.05; done'`, { P: blind });
    await once(child.stdout, 'data');
    child.kill('SIGHUP');
    assert.equal(await ended(child), 7);
  });
});
