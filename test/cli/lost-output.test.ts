// A failed read or write is never success: a reader that is gone gives status 141 and no message, any other failure one line and 125.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Background, collect } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';
import { inShell } from '../support/shell.js';
import { program } from '../support/sluice-server.js';

const agent = `"${process.execPath}" "${fileURLToPath(new URL('../fixtures/agent.js', import.meta.url))}" ""`;
const runAgent = 'sluice agent run --adapter jsonl --turn-end type=end';
const full = 'sluice: cannot write to stdout: no space left on device\n';

describe('output that cannot be written', () => {
  let background: Background;
  let folder = '';
  const shell = (script: string) => inShell(script, { folder, env: { ...background.env, XDG_STATE_HOME: folder } });
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    background = new Background();
    await background.good(['exec', '-d', '--name', 'talker', '--', 'echo', 'hello']);
    await background.good(['wait', 'talker']);
    const ran = await shell(`${runAgent} hello -- ${agent} >/dev/null`);
    assert.deepEqual(ran, { status: 0, stdout: '', stderr: '' });
  });
  after(async () => {
    await background[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  guardAgainstLeaks();

  const commands = [
    '--help',
    '--version',
    'exec --help',
    'completion bash',
    'exec -- echo hello',
    'exec -t -- echo hello </dev/null',
    'exec --json -- echo hello',
    'exec --json -- /no/such/program',
    'exec --buffered -- echo hello',
    'exec -d -- true',
    'ps',
    'ps --watch',
    'logs talker',
    'snapshot --json talker',
    'wait --json talker',
    'attach talker </dev/null',
    'agent logs',
    'agent usage',
    'serve --listen ws://127.0.0.1:0 --log-level silent',
  ];
  for (const command of commands) {
    test(`to a full disk: sluice ${command}`, async () => {
      assert.deepEqual(await shell(`sluice ${command} >/dev/full`), { status: 125, stdout: '', stderr: full });
    });

    test(`to a reader that is gone: sluice ${command}`, async () => {
      assert.deepEqual(await shell(`closedPipe sluice ${command}`), { status: 141, stdout: '', stderr: '' });
    });
  }

  test('to a full disk: sluice doctor', async () => {
    assert.deepEqual(await shell('sluice doctor >/dev/full'), { status: 125, stdout: '', stderr: full });
  });

  test('completely, because the file has reached its size limit', async () => {
    const { status, stderr } = await shell(
      'ulimit -f 8; sluice exec --json -- head -c 100000 /dev/zero >"$SLUICE_TEST_FOLDER/out"',
    );
    assert.deepEqual({ status, stderr }, { status: 125, stderr: 'sluice: cannot write to stdout: file too large\n' });
  });

  test('to stderr is a failure too, though no line can report it', async () => {
    assert.deepEqual(await shell("sluice exec -- sh -c 'echo lost >&2' 2>/dev/full"), { status: 125, stdout: '', stderr: '' });
    assert.equal((await shell("sluice exec --buffered -- sh -c 'echo lost >&2' 2>/dev/full")).status, 125);
    assert.equal((await shell('sluice no-such-command 2>/dev/full')).status, 125);
  });

  test('to a stderr without a reader does not disturb the command', async () => {
    const script =
      'exec 9>&1; closedPipe sh -c \'"$SLUICE_TEST_NODE" "$SLUICE_TEST_PROGRAM" exec -- sh -c "echo lost >&2; echo done; exit 3" 2>&1 >&9\'';
    assert.deepEqual(await shell(script), { status: 3, stdout: 'done\n', stderr: '' });
  });

  for (const [where, run, status] of [
    ['a full disk', 'sluice exec -- sh -c "$WRITER" >/dev/full', 125],
    ['a reader that is gone', 'closedPipe sluice exec -- sh -c "$WRITER"', 141],
  ] as const) {
    test(`ends the command that writes it: ${where}`, async () => {
      const writer = `WRITER='echo $$ >"$SLUICE_TEST_FOLDER/pid"; while :; do echo more; sleep 0.05; done'`;
      assert.equal((await shell(`${writer}; ${run}`)).status, status);
      const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
      assert.ok(pid > 1);
      await eventually(async () => assert.deepEqual(await living([pid]), []));
    });
  }

  test('of an agent ends its run without a message when its reader is gone', async () => {
    const talkative = "sh -c 'while echo more; do sleep 0.05; done'";
    const pipeline = `{ ${runAgent} talk -- ${talkative}; echo $? >"$SLUICE_TEST_FOLDER/status"; } | head -1`;
    const ran = await shell(`${pipeline}; cat "$SLUICE_TEST_FOLDER/status"`);
    assert.deepEqual(ran, { status: 0, stdout: '> talk\n141\n', stderr: '' });
  });

  test('of an agent ends its run with a message when the disk is full', async () => {
    assert.deepEqual(await shell(`${runAgent} hang -- ${agent} >/dev/full`), { status: 125, stdout: '', stderr: full });
  });
});

describe('an internal fault', () => {
  guardAgainstLeaks();

  test('prints one line without a stack trace, exits with 125, and ends the command', async () => {
    const fault = `process.stdin.once('data', () => { throw new Error('out of \\x1b[2Jorder\\nfor good'); });`;
    const flag = `data:text/javascript,${encodeURIComponent(fault)}`;
    const child = spawn(process.execPath, ['--import', flag, program, 'exec', '--', 'sh', '-c', 'echo $$; exec sleep 600']);
    const stderr = collect(child.stderr);
    const [pid] = (await once(child.stdout, 'data')) as [Buffer];
    child.stdin.end('now\n');
    const [status] = (await once(child, 'close')) as [number | null];
    assert.deepEqual([status, Buffer.concat(stderr).toString()], [125, 'sluice: out of \\x1b[2Jorder for good\n']);
    await eventually(async () => assert.deepEqual(await living([Number(pid.toString())]), []));
  });
});

describe('a current folder that has been removed', () => {
  let folder = '';
  before(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-'))));
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  const inRemoved = (command: string) =>
    inShell(`mkdir here; cd here; rmdir ../here; ${command}`, { folder, env: { XDG_STATE_HOME: folder } });

  test('does not matter when -C names another folder', async () => {
    assert.deepEqual(await inRemoved('sluice exec -C / -- pwd'), { status: 0, stdout: '/\n', stderr: '' });
    // The shell script at the head of the program may print a warning about the folder.
    const { status, stdout } = await inRemoved(
      'PATH="$(dirname "$SLUICE_TEST_NODE"):$PATH" "$SLUICE_TEST_PROGRAM" exec -C / -- pwd',
    );
    assert.deepEqual([status, stdout], [0, '/\n']);
    assert.equal((await inRemoved(`${runAgent} -C / hello -- ${agent} | tail -1`)).stdout, 'completed; exit code 0\n');
  });

  test('is reported in one line where it is needed', async () => {
    const stderr = 'sluice: the current folder has been removed; name another by its absolute path with -C\n';
    assert.deepEqual(await inRemoved('sluice exec -- pwd'), { status: 125, stdout: '', stderr });
    assert.deepEqual(await inRemoved(`${runAgent} hello -- ${agent}`), { status: 125, stdout: '', stderr });
  });
});

describe('input that cannot be read', () => {
  let folder = '';
  const shell = (script: string) => inShell(script, { folder, env: { XDG_STATE_HOME: folder } });
  before(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-'))));
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  const isFolder = 'sluice: cannot read stdin: it is a folder\n';

  test('is not mistaken for an empty stdin: a folder', async () => {
    assert.deepEqual(await shell('sluice exec -- cat </'), { status: 125, stdout: '', stderr: isFolder });
    assert.deepEqual(await shell('sluice exec --json -- cat </'), { status: 125, stdout: '', stderr: isFolder });
    const prompts = `${runAgent} --prompts-from-stdin hello -- ${agent} </ | tail -1`;
    assert.equal((await shell(prompts)).stderr, isFolder);
  });

  test('by sluice send is reported, and ends nothing', async () => {
    await using background = new Background();
    await background.good(['exec', '-d', '--name', 'reader', '--', 'cat']);
    const sent = await inShell('sluice send reader --stdin --eof </', { folder, env: background.env });
    assert.deepEqual(sent, { status: 125, stdout: '', stderr: isFolder });
    assert.match(await background.good(['ps', '--running']), /reader/);
  });

  test('ends the command: a stdin that is open for writing only', async () => {
    const command = `sh -c 'echo $$ >"$SLUICE_TEST_FOLDER/pid"; exec sleep 600'`;
    const ran = await shell(`sluice exec -- ${command} 0>"$SLUICE_TEST_FOLDER/in"`);
    assert.deepEqual(ran, { status: 125, stdout: '', stderr: 'sluice: cannot read stdin: bad file descriptor\n' });
  });
});
