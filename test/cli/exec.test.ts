// `sluice exec` through the built program, on pipes: every flag, and every exit status.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { InTerminal, collect, ended, sluice, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { OtherExecServer } from '../support/other-exec-server.js';
import { living } from '../support/processes.js';
import { SluiceServer, program } from '../support/sluice-server.js';
import { selfSigned } from '../transport/self-signed.js';

/** Expects a refusal in one line, with nothing on stdout. */
async function refuses(problem: RegExp, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const { status, stdout, stderr } = await sluice(args, { env });
  assert.deepEqual({ status, stdout }, { status: 125, stdout: '' }, stderr);
  assert.match(stderr, problem);
  assert.match(stderr, /^sluice: [^\n]*\n$/);
}

describe('sluice exec', () => {
  let folder = '';
  before(() => (folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-')))));
  after(() => rmSync(folder, { recursive: true }));
  guardAgainstLeaks();

  describe('exits', () => {
    test('as the command does, with its streams passed through', async () => {
      assert.deepEqual(await sluice(['exec', '--', 'sh', '-c', 'cat; echo err >&2; exit 3'], { input: 'in' }), {
        status: 3,
        stdout: 'in',
        stderr: 'err\n',
      });
    });

    test('with 128+N when a signal ended the command', async () => {
      assert.equal((await sluice(['exec', '--', 'sh', '-c', 'kill -s KILL $$'])).status, 137);
    });

    test('with 127 for a program that does not exist and 126 for one that cannot be executed', async () => {
      const missing = await sluice(['exec', '--', 'no-such-program']);
      assert.equal(missing.status, 127);
      assert.match(missing.stderr, /^sluice: .*no-such-program.*\n$/);
      assert.equal((await sluice(['exec', '--', '/etc/passwd'])).status, 126);
    });

    test('with 124 on a timeout, whatever the command exits with', async () => {
      const started = [
        'exec',
        '--timeout',
        '300ms',
        '--',
        'sh',
        '-c',
        'trap "exit 0" TERM; echo up; while :; do sleep 0.05; done',
      ];
      const { status, stdout } = await sluice(started);
      assert.deepEqual({ status, stdout }, { status: 124, stdout: 'up\n' });
    });

    test('with 124 on an idle timeout', async () => {
      const { status } = await sluice(['exec', '--idle-timeout=200ms', '--', 'sh', '-c', 'echo once; sleep 600']);
      assert.equal(status, 124);
    });

    test('with 141 when its stdout is no longer read, once the command is gone', async () => {
      const child = startSluice(['exec', '--', 'sh', '-c', 'echo $$; while :; do echo more; sleep 0.01; done']);
      const [first] = (await once(child.stdout, 'data')) as [Buffer];
      const pid = Number.parseInt(first.toString(), 10);
      child.stdout.destroy();
      assert.equal(await ended(child), 141);
      assert.deepEqual(await living([pid]), []);
    });

    test('with 125 when the server refuses or cannot be reached', async () => {
      await refuses(/could not connect to unix:\/\/\/no\/such\/socket/, [
        'exec',
        '--connect',
        'unix:///no/such/socket',
        '--',
        'true',
      ]);
      await refuses(/unsupported server URL "http:\/\/x"/, ['exec', '--connect', 'http://x', '--', 'true']);
      await using server = await SluiceServer.start('unix', ['--no-direct-exec']);
      await refuses(/does not allow direct commands/, ['exec', '--connect', server.url, '--', 'true']);
    });
  });

  describe('refuses', () => {
    test('what it does not understand, in one line that says what would be right', async () => {
      await refuses(/exec needs a command, as in: sluice exec -- make test/, ['exec']);
      await refuses(/unknown option "--timout"; did you mean --timeout\?$/m, ['exec', '--timout', '1']);
      await refuses(/--timeout must be a time such as 500ms, 30s.*, got "soon"/, ['exec', '--timeout', 'soon', '--', 'true']);
      await refuses(/--timeout needs a value, as in --timeout TIME/, ['exec', '--timeout', '--', 'true']);
      await refuses(/--tty takes no value, got "yes"/, ['exec', '--tty=yes', '--', 'true']);
      await refuses(/--env needs a name, as in -e NAME=value, got "=x"/, ['exec', '-e', '=x', '--', 'true']);
      await refuses(/unknown command "exce"; did you mean "sluice exec"\?/, ['exce']);
    });

    test('flags that contradict each other', async () => {
      await refuses(/--stream and --tty exclude each other/, ['exec', '--stream', '-t', '--', 'true']);
      await refuses(/--stream and --json exclude each other/, ['exec', '--json', '--stream', '--', 'true']);
      await refuses(/--connect and --via exclude each other/, ['exec', '--connect', 'ws://x:1', '--via', 'ssh h', '--', 'true']);
      await refuses(/--max-output needs --buffered or --json/, ['exec', '--max-output', '1KiB', '--', 'true']);
      await refuses(/--detach-keys needs -t and a server/, ['exec', '-t', '--detach-keys', 'ctrl-a', '--', 'true']);
      await refuses(/-d needs a server that outlives this program/, ['exec', '-d', '--via', 'ssh h', '--', 'true']);
      await refuses(/--remote-sluice needs --via/, ['exec', '--remote-sluice', 'x', '--', 'true']);
      await refuses(/--token-file needs --connect/, ['exec', '--token-file', 'x', '--', 'true']);
    });
  });

  describe('gives the command', () => {
    test('its own arguments untouched, even those that look like ours', async () => {
      assert.equal((await sluice(['exec', 'echo', '-t', '--help', '--', '-x'])).stdout, '-t --help -- -x\n');
      assert.equal((await sluice(['exec', '--', '--help'])).status, 127);
    });

    test('the folder that -C names, relative to ours', async () => {
      assert.equal((await sluice(['exec', '-C', '..', '--', 'pwd'], { cwd: folder })).stdout, `${realpathSync(tmpdir())}\n`);
      assert.equal((await sluice(['exec', `--cwd=${folder}`, '--', 'pwd'])).stdout, `${folder}\n`);
      assert.equal((await sluice(['exec', '--', 'pwd'], { cwd: folder })).stdout, `${folder}\n`);
      assert.equal((await sluice(['exec', '-C', '/no/such/folder', '--', 'pwd'])).status, 125);
    });

    test('our variables, and those that --env-file and -e add, with -e taking precedence', async () => {
      const file = join(folder, 'variables');
      writeFileSync(file, '# comment\nA=file\nB="quoted # value"\n');
      const show = ['--', 'sh', '-c', 'echo "$A|$B|$C|${D-unset}|$SHELL_HAS"'];
      const env = { SHELL_HAS: 'it', C: 'passed', D: undefined };
      const ran = await sluice(['exec', '--env-file', file, '-e', 'A=flag', '-eC', '--env', 'D', ...show], { env });
      assert.deepEqual(ran, { status: 0, stdout: 'flag|quoted # value|passed|unset|it\n', stderr: '' });
    });

    test('only the core of our variables with --no-inherit-env', async () => {
      const show = ['--', 'sh', '-c', 'echo "${SHELL_HAS-unset}|${PATH:+path}"'];
      const env = { SHELL_HAS: 'it' };
      assert.equal((await sluice(['exec', '--no-inherit-env', ...show], { env })).stdout, 'unset|path\n');
      assert.equal((await sluice(['exec', '--inherit-env', ...show], { env })).stdout, 'it|path\n');
    });

    test('another name with --arg0', async () => {
      assert.equal((await sluice(['exec', '--arg0', 'other', '--', 'sh', '-c', 'echo "$0"'])).stdout, 'other\n');
    });

    test('as much time to clean up as --grace sets', async () => {
      const stubborn = ['--', 'sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done'];
      const { status, stdout } = await sluice(['exec', '--json', '--timeout', '200ms', '--grace', '0', ...stubborn]);
      const { signal, reason, exitStatus } = JSON.parse(stdout) as Record<string, unknown>;
      assert.deepEqual(
        { status, signal, reason, exitStatus },
        { status: 124, signal: 'SIGKILL', reason: 'timedOut', exitStatus: 124 },
      );
      const tidy = ['--', 'sh', '-c', 'trap "sleep 0.3; echo tidied; exit 0" TERM; while :; do sleep 0.05; done'];
      assert.equal((await sluice(['exec', '--timeout', '200ms', '--grace', '60s', ...tidy])).stdout, 'tidied\n');
    });

    test('the signals that we receive', async () => {
      const script = 'trap "echo got it; exit 7" TERM; echo ready; while :; do sleep 0.05; done';
      const child = startSluice(['exec', '--', 'sh', '-c', script]);
      const seen = collect(child.stdout);
      await once(child.stdout, 'data');
      child.kill('SIGTERM');
      assert.deepEqual([await ended(child), Buffer.concat(seen).toString()], [7, 'ready\ngot it\n']);
    });

    test('a stop and a continue together with ours', async () => {
      // A single process, because a shell that is stopped in the middle of a vfork is shown as waiting for its child.
      const child = startSluice(['exec', '--', 'sh', '-c', 'echo $$; exec sleep 600']);
      const [first] = (await once(child.stdout, 'data')) as [Buffer];
      const pid = Number.parseInt(first.toString(), 10);
      const states = async (): Promise<string[]> => {
        const ran = spawn('ps', ['-o', 'state=', '-p', `${pid},${child.pid ?? 0}`]);
        const out = collect(ran.stdout);
        await once(ran, 'close');
        return Buffer.concat(out)
          .toString()
          .split('\n')
          .map((line) => line.trim().slice(0, 1))
          .filter((state) => state !== '');
      };
      child.kill('SIGTSTP');
      await eventually(async () => assert.deepEqual(await states(), ['T', 'T']));
      child.kill('SIGCONT');
      await eventually(async () => assert.ok(!(await states()).includes('T')));
      child.kill('SIGKILL');
      await ended(child);
      await eventually(async () => assert.deepEqual(await living([pid]), []));
    });
  });

  describe('keeps the output', () => {
    test('until the end with --buffered, stdout first', async () => {
      const both = await new Promise<string>((resolve) => {
        const args = [program, 'exec', '--buffered', '--', 'sh', '-c', 'echo err >&2; echo out; exit 4'];
        const child = spawn('sh', ['-c', '"$0" "$@" 2>&1; echo "status $?"', process.execPath, ...args], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const out = collect(child.stdout);
        child.on('close', () => resolve(Buffer.concat(out).toString()));
      });
      assert.equal(both, 'out\nerr\nstatus 4\n');
    });

    test('within --max-output, and says what was dropped', async () => {
      assert.deepEqual(
        await sluice(['exec', '--buffered', '--max-output', '1KiB', '--', 'sh', '-c', 'head -c 1500 /dev/zero; echo x >&2']),
        {
          status: 0,
          stdout: '\0'.repeat(1024),
          stderr: 'sluice: 476 bytes of stdout were dropped; see --max-output\nx\n',
        },
      );
    });

    test('as one JSON object with --json, text and bytes', async () => {
      const { status, stdout, stderr } = await sluice(['exec', '--json', '--', 'sh', '-c', 'cat; printf "\\377" >&2; exit 5'], {
        input: 'é\n',
      });
      const { durationMs, ...result } = JSON.parse(stdout) as Record<string, unknown>;
      assert.equal(typeof durationMs, 'number');
      assert.deepEqual(
        { status, stderr, result },
        {
          status: 5,
          stderr: '',
          result: {
            code: 5,
            signal: null,
            reason: 'exited',
            exitStatus: 5,
            outputComplete: true,
            stdout: { text: 'é\n', base64: 'w6kK', bytes: 3, truncated: false, droppedBytes: 0 },
            stderr: { text: '\ufffd', base64: '/w==', bytes: 1, truncated: false, droppedBytes: 0 },
          },
        },
      );
    });

    test('as JSON even when it is cut short, when a signal ended it, and when it never ran', async () => {
      const cut = JSON.parse((await sluice(['exec', '--json', '--max-output=2', '--', 'echo', 'abc'])).stdout) as {
        stdout: object;
      };
      assert.deepEqual(cut.stdout, { text: 'ab', base64: 'YWI=', bytes: 4, truncated: true, droppedBytes: 2 });
      const killed = JSON.parse((await sluice(['exec', '--json', '--', 'sh', '-c', 'kill -9 $$'])).stdout) as Record<
        string,
        unknown
      >;
      assert.deepEqual([killed['code'], killed['signal'], killed['exitStatus']], [null, 'SIGKILL', 137]);
      const missing = await sluice(['exec', '--json', '--', 'no-such-program']);
      const { problem, ...facts } = JSON.parse(missing.stdout) as Record<string, unknown>;
      assert.match(String(problem), /no-such-program/);
      assert.deepEqual(
        [missing.status, missing.stderr, facts],
        [127, '', { code: null, signal: null, reason: 'spawnFailed', exitStatus: 127, failure: 'programNotFound' }],
      );
    });
  });

  describe('on a server', () => {
    test('runs where --connect or SLUICE_URL says, with the token from a file or a variable', async () => {
      const token = 'a-token-of-thirty-two-characters-x';
      const file = join(folder, 'token');
      writeFileSync(file, `${token}\n`);
      await using server = await SluiceServer.start('websocket', ['--token-file', file]);
      const parent = ['--', 'sh', '-c', 'echo $PPID'];
      const good = { status: 0, stdout: `${server.child.pid}\n`, stderr: '' };
      assert.deepEqual(await sluice(['exec', '--connect', server.url, '--token-file', file, ...parent]), good);
      assert.deepEqual(await sluice(['exec', ...parent], { env: { SLUICE_URL: server.url, SLUICE_TOKEN: token } }), good);
      await refuses(/401/, ['exec', '--connect', server.url, ...parent]);
    });

    for (const kind of ['unix', 'websocket'] as const) {
      test(`gives the command the few variables and the home of the server’s user, and ours on request (${kind})`, async () => {
        const home = mkdtempSync(join(folder, 'home-'));
        await using server = await SluiceServer.start(kind, [], { env: { HOME: home } });
        const show = ['--', 'sh', '-c', 'echo "${OURS-unset}|${PATH:+path}"; pwd'];
        const env = { OURS: 'it' };
        const few = await sluice(['exec', '--connect', server.url, ...show], { env, cwd: folder });
        assert.deepEqual(few, { status: 0, stdout: `unset|path\n${home}\n`, stderr: '' });
        const all = await sluice(['exec', '--connect', server.url, '--inherit-env', '-C', folder, ...show], { env });
        assert.deepEqual(all, { status: 0, stdout: `it|path\n${folder}\n`, stderr: '' });
        await refuses(/cwd must be an absolute path/, ['exec', '--connect', server.url, '-C', 'somewhere', '--', 'true']);
      });
    }

    test('fails on a server that cannot close stdin, instead of waiting for a command that reads to its end', async () => {
      const path = join(folder, 'other');
      const listener = createServer((socket) => void new OtherExecServer(socket, 'released')).listen(path);
      await once(listener, 'listening');
      const { status, stderr } = await sluice(['exec', '--connect', `unix://${path}`, '-C', '/', '--', 'cat'], { input: 'x' });
      assert.equal(status, 125);
      assert.match(stderr, /^sluice: this server, which is not Sluice, does not support closing the stdin of a pipe\n$/);
      listener.close();
    });

    test('prints on a terminal in which folder the command runs, unless -C names it', async () => {
      await using server = await SluiceServer.start('unix', [], { env: { HOME: folder } });
      await using unnamed = await InTerminal.open(['exec', '--connect', server.url, '--', 'echo', 'done']);
      const { text } = await unnamed.rest();
      assert.equal(text, `sluice: running in ${folder} on ${server.url}; use -C for another folder there\r\ndone\r\n`);
      await using named = await InTerminal.open(['exec', '--connect', server.url, '-C', '/', '--', 'echo', 'done']);
      assert.equal((await named.rest()).text, 'done\r\n');
    });

    test('trusts the private certificate authority that --ca or SLUICE_CA names, and suggests --ca when none does', async () => {
      const { cert, key } = selfSigned();
      const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
      await using server = await SluiceServer.start('unix', [
        '--listen',
        'wss://127.0.0.1:0',
        '--tls-cert',
        certFile,
        '--tls-key',
        keyFile,
      ]);
      const url = await eventually(() => server.urls.find((each) => each.startsWith('wss:')) ?? assert.fail('no address yet'));
      const good = { status: 0, stdout: 'trusted\n', stderr: '' };
      const say = ['--', 'echo', 'trusted'];
      assert.deepEqual(await sluice(['exec', '--connect', url, '--ca', certFile, ...say]), good);
      assert.deepEqual(await sluice(['exec', ...say], { env: { SLUICE_URL: url, SLUICE_CA: certFile } }), good);
      assert.deepEqual(await sluice(['exec', ...say], { env: { SLUICE_URL: server.url, SLUICE_CA: certFile } }), good);
      await refuses(/self.signed certificate; if its certificate authority is private, name it with --ca FILE/, [
        'exec',
        '--connect',
        url,
        ...say,
      ]);
      await refuses(/--ca .*key\.pem contains no PEM certificate/, ['exec', '--connect', url, '--ca', keyFile, ...say]);
      await refuses(/--ca: ENOENT.*no-such-file/, ['exec', '--connect', url, '--ca', 'no-such-file', ...say]);
      await refuses(/--ca is for wss:\/\/ addresses/, ['exec', '--connect', server.url, '--ca', certFile, ...say]);
      await refuses(/--ca needs --connect/, ['exec', '--ca', certFile, ...say]);
    });

    test('launches one through --via, and nothing of it is left', async () => {
      const via = `env 'OURS=it is' ${process.execPath}`;
      const show = ['--', 'sh', '-c', 'cat; echo "$PPID"; exit 6'];
      const ran = await sluice(['exec', '--via', via, '--remote-sluice', program, ...show], { input: 'over stdio\n' });
      const [line, server] = ran.stdout.split('\n');
      assert.deepEqual([ran.status, line, ran.stderr], [6, 'over stdio', '']);
      assert.deepEqual(await living([Number(server)]), []);
      await refuses(/cannot launch a server with "no-such-ssh host sluice serve/, [
        'exec',
        '--via',
        'no-such-ssh host',
        '--',
        'true',
      ]);
    });

    test('lists it under its --name while it runs', async () => {
      await using server = await SluiceServer.start('unix');
      const child = startSluice(['exec', '--connect', server.url, '--name', 'echoing', '--', 'cat']);
      await eventually(async () => {
        assert.equal((await sluice(['ps', '--quiet', '--connect', server.url])).stdout, 'echoing\n');
      });
      child.stdin.end();
      assert.equal(await ended(child), 0);
    });
  });
});

describe('sluice', () => {
  test('prints its version, its commands and their options', async () => {
    assert.match((await sluice(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
    const { stdout } = await sluice([]);
    assert.match(stdout, /sluice exec -t -- bash/);
    assert.equal((await sluice(['--help'])).stdout, stdout);
    assert.equal((await sluice(['help'])).stdout, stdout);
    const help = (await sluice(['exec', '--help'])).stdout;
    assert.match(help, /^Usage: sluice exec \[OPTIONS\] \[--\] COMMAND \[ARG\.\.\.\]\n\n.*\n\n {2}sluice exec -- make test/s);
    assert.equal((await sluice(['help', 'exec'])).stdout, help);
  });
});
