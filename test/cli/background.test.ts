// Processes that outlive the shell: `exec -d`, the background server, and the commands that use it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ProcessStatus } from '#src/protocol/index.js';
import { Background, InTerminal, collect, ended, sluice, startSluice } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { living } from '../support/processes.js';

const ticking = ['--', 'sh', '-c', 'while :; do echo tick; sleep 0.05; done'];

describe('the background server', () => {
  guardAgainstLeaks();

  test('is started by exec -d, found by other commands, and stopped with all its processes by serve --stop', async () => {
    await using background = new Background();
    assert.equal(await background.good(['exec', '-d', '--name', 'web', '--', 'sh', '-c', 'echo $$; exec sleep 600']), 'web\n');
    const pid = await eventually(async () =>
      Number(/^\d+\n/.exec(await background.good(['logs', 'web'])) ?? assert.fail('no pid yet')),
    );
    assert.deepEqual(await living([pid]), [pid]);
    assert.equal(await background.good(['ps', '-q']), 'web\n');
    assert.equal(await background.good(['serve', '--stop']), '');
    assert.deepEqual(await living([pid]), []);
    assert.equal(existsSync(join(background.folder, 'sluice', 'socket')), false);
    assert.deepEqual(await background.run(['ps', '-q']), {
      status: 0,
      stdout: '',
      stderr: 'sluice: no server is running; "sluice exec -d" starts one\n',
    });
    assert.match((await background.run(['serve', '--stop'])).stderr, /^sluice: no background server is running\n$/);
  });

  test('gives a command the variables of the shell, and none that only the server has', async () => {
    await using background = new Background();
    await background.good(['serve', '--daemon'], { env: { LC_CTYPE: 'server', LOGNAME: 'server' } });
    const show = ['--', 'sh', '-c', 'echo "${LC_CTYPE-none} ${LOGNAME-none}"'];
    await background.good(['exec', '-d', '--name', 'shown', ...show], { env: { LC_CTYPE: 'shell', LOGNAME: undefined } });
    assert.equal(await background.good(['logs', '--follow', 'shown']), 'shell none\n');
  });

  test('is started for a user without a home folder too', async () => {
    await using background = new Background();
    const home = { HOME: join(background.folder, 'no-such-home') };
    assert.equal(await background.good(['exec', '-d', '--name', 'homeless', '--', 'sleep', '600'], { env: home }), 'homeless\n');
  });

  test('names the variable that helps when there is no place for its socket', async () => {
    await using background = new Background();
    const file = join(background.folder, 'a-file');
    writeFileSync(file, '');
    const { status, stderr } = await sluice(['exec', '-d', '--', 'true'], { env: { XDG_RUNTIME_DIR: undefined, TMPDIR: file } });
    assert.equal(status, 125);
    assert.match(stderr, /^sluice: the background server has no place .*ENOTDIR.*set XDG_RUNTIME_DIR to a folder of yours/);
  });

  test('is started once when two shells need it at the same time', async () => {
    await using background = new Background();
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => background.good(['exec', '-d', '--name', name, '--', 'sleep', '600'])));
    assert.deepEqual((await background.good(['ps', '-q'])).trim().split('\n').toSorted(), names);
  });

  test('is started by serve --daemon, on other addresses too, and only once', async () => {
    await using background = new Background();
    const urls = await background.good([
      'serve',
      '--daemon',
      '--listen',
      'ws://127.0.0.1:0',
      '--max-connections',
      '7',
      '--no-prepared-exec',
    ]);
    const [socket = '', websocket = ''] = urls.split('\n');
    assert.equal(socket, `unix://${join(background.folder, 'sluice', 'socket')}`);
    assert.match(websocket, /^ws:\/\/127\.0\.0\.1:\d+$/);
    assert.equal((await sluice(['exec', '--connect', websocket, '--', 'echo', 'there'])).stdout, 'there\n');
    const second = await background.run(['serve', '--daemon']);
    assert.deepEqual([second.status, second.stdout], [125, '']);
    assert.match(second.stderr, /^sluice: a background server is already running; "sluice serve --stop" stops it\n$/);
  });

  test('reports its mistakes to the command that starts it', async () => {
    await using background = new Background();
    const wrong = await background.run(['serve', '--daemon', '--max-connections', 'many']);
    assert.deepEqual([wrong.status, wrong.stdout], [125, '']);
    assert.match(wrong.stderr, /^sluice: --max-connections must be a whole number .*\n$/);
    const taken = await background.run(['serve', '--daemon', '--token-file', '/no/such/file']);
    assert.equal(taken.status, 125);
    assert.match(taken.stderr, /^sluice: the background server did not start: .*\/no\/such\/file.*\n$/);
    assert.match((await background.run(['serve', '--stop', '--daemon'])).stderr, /--stop takes no other options/);
  });

  test('exits after its idle timeout', async () => {
    await using background = new Background();
    await background.good(['serve', '--daemon', '--idle-exit-ms', '3000', '--keep-released-ms', '100']);
    await background.good(['exec', '-d', '--name', 'short', '--', 'sleep', '0.1']);
    await eventually(() => assert.equal(existsSync(join(background.folder, 'sluice', 'socket')), false));
  });

  test('keeps its socket and its log private, and trusts no folder that other users can enter', async () => {
    await using background = new Background();
    const own = join(background.folder, 'sluice');
    await background.good(['exec', '-d', '--name', 'x', '--', 'true']);
    assert.deepEqual(
      [own, join(own, 'socket'), join(own, 'serve.log')].map((file) => statSync(file).mode & 0o777),
      [0o700, 0o600, 0o600],
    );
    assert.equal(readFileSync(join(own, 'serve.log'), 'utf8'), '');
    await background.good(['serve', '--stop']);
    chmodSync(own, 0o755);
    const open = await background.run(['exec', '-d', '--', 'true']);
    assert.deepEqual([open.status, open.stdout], [125, '']);
    assert.match(open.stderr, /is not private/);
    chmodSync(own, 0o700);
    const linked = join(background.folder, 'other');
    mkdirSync(linked);
    symlinkSync(own, join(linked, 'sluice'));
    assert.match((await background.run(['ps'], { env: { XDG_RUNTIME_DIR: linked } })).stderr, /is not private/);
  });

  test('gives a detached command our folder and variables, and a terminal with -t', async () => {
    await using background = new Background();
    const script = 'pwd; echo "$OURS"; [ -t 0 ] && stty size';
    await background.good(['exec', '-dt', '--name', 'x', '--', 'sh', '-c', script], {
      cwd: background.folder,
      env: { OURS: 'it' },
    });
    assert.equal(await background.good(['logs', '-f', 'x']), `${background.folder}\nit\n24 80\n`);
  });

  test('explains what is wrong with a name', async () => {
    await using background = new Background();
    assert.match(
      (await background.run(['logs', 'web'])).stderr,
      /^sluice: no server is running, so there are no processes; .*exec -d.*\n$/,
    );
    await background.good(['exec', '-d', '--name', 'worker-1', '--', 'sleep', '600']);
    await background.good(['exec', '-d', '--name', 'worker-2', '--', 'sleep', '600']);
    const taken = await background.run(['exec', '-d', '--name', 'worker-1', '--', 'sleep', '600']);
    assert.deepEqual(
      [taken.status, taken.stderr],
      [125, 'sluice: worker-1 is already running; "sluice kill worker-1" ends it, "sluice restart worker-1" starts it again\n'],
    );
    assert.match((await background.run(['kill', 'wroker-1'])).stderr, /there is no process "wroker-1"; did you mean worker-1\?/);
    // The beginning of a name does not match.
    for (const [name, hint] of [
      ['worker', 'did you mean worker-1 or worker-2?'],
      ['web', '"sluice ps" lists them'],
    ] as const) {
      for (const command of [
        ['kill'],
        ['logs'],
        ['attach'],
        ['snapshot'],
        ['wait'],
        ['send', '--eof'],
        ['resize', '--', name, '9x9'],
      ]) {
        const { status, stderr } = await background.run(command.includes(name) ? command : [...command, name]);
        assert.deepEqual([status, stderr], [125, `sluice: there is no process "${name}"; ${hint}\n`], command[0]);
      }
    }
    for (const name of ['worker-3', 'worker-4']) await background.good(['exec', '-d', '--name', name, '--', 'sleep', '600']);
    assert.equal(
      (await background.run(['kill', 'w'])).stderr,
      'sluice: there is no process "w"; 4 names begin with it: worker-2, worker-3, worker-4...\n',
    );
    assert.equal((await background.good(['ps', '-q', '-r'])).split('\n').length - 1, 4);
    assert.equal(await background.good(['kill', 'worker-3', 'worker-4']), '');
    const [{ sessionId = '' } = {}] = JSON.parse(await background.good(['ps', '--json'])) as ProcessStatus[];
    assert.equal(await background.good(['kill', `${sessionId.slice(0, 8)}/worker-1`]), '');
    assert.equal(await background.good(['kill', 'worker-2']), '');
    for (const command of ['logs', 'attach', 'snapshot', 'wait', 'send', 'kill', 'resize', 'restart', 'rm']) {
      const { status, stderr } = await background.run([command]);
      assert.equal(status, 125);
      assert.match(stderr, new RegExp(`^sluice: ${command} needs [^\\n]*sluice ${command} NAME[^\\n]*\\n$`));
    }
  });
});

describe('a name with control characters', () => {
  guardAgainstLeaks();

  test('is escaped in tables, lists and errors, and exact in JSON', async () => {
    await using background = new Background();
    const name = '\x1b]0;title\x07\u009b2J';
    const spelled = String.raw`\x1b]0;title\x07\x9b2J`;
    await background.good(['exec', '-d', '--name', name, '--', 'true']);
    await background.good(['wait', name]);
    const [head = '', row = ''] = (await background.good(['ps'])).split('\n');
    assert.deepEqual([head.slice(0, 4), row.split('  ')[0]], ['NAME', spelled]);
    assert.equal(await background.good(['ps', '-q']), `${spelled}\n`);
    assert.equal((await background.run(['kill', name])).stderr, `sluice: ${spelled} has already ended\n`);
    assert.equal(
      (await background.run(['kill', `${name}\n`])).stderr,
      `sluice: there is no process "${spelled} "; did you mean ${spelled}?\n`,
    );
    const json = await background.good(['ps', '--json']);
    assert.deepEqual([json.includes('\u009b'), (JSON.parse(json) as ProcessStatus[])[0]?.processId], [false, name]);
  });
});

describe('on the background server', () => {
  let background: Background;
  before(async () => {
    background = new Background();
    await background.good(['serve', '--daemon', '--retained-bytes', '200000', '--head-bytes', '1000']);
  });
  after(() => background[Symbol.asyncDispose]());
  guardAgainstLeaks();
  const start = (name: string, ...command: string[]) => background.good(['exec', '-d', '--name', name, ...command]);

  describe('sluice ps', () => {
    test('shows a table, JSON or names, of all or of running processes', async () => {
      await start('lives', '--', 'sleep', '600');
      await start('failed', '--', 'sh', '-c', 'printf x; exit 3');
      await background.run(['wait', 'failed']);
      const table = await background.good(['ps']);
      assert.match(table, /^NAME {4}STATE {5}PID {2,}AGE {2,}OUTPUT {2}COMMAND\n/);
      assert.match(table, /\nlives {3}running {3}\d+ +\d+s +0B {6}sleep 600\n/);
      assert.match(table, /\nfailed {2}exited 3 {2}\d+ +\d+s +1B {6}sh -c 'printf x; exit 3'\n/);
      const json = JSON.parse(await background.good(['ps', '--json'])) as ProcessStatus[];
      assert.deepEqual(
        json.map(({ processId, state }) => [processId, state]),
        [
          ['lives', 'running'],
          ['failed', 'closed'],
        ],
      );
      assert.equal(await background.good(['ps', '-q', '--running']), 'lives\n');
      await background.good(['kill', 'lives']);
    });

    test('uses colours only on a terminal, and not with NO_COLOR', async () => {
      await using coloured = await InTerminal.open(['ps'], { env: background.env });
      assert.match((await coloured.rest()).text, /\p{Cc}\[31mexited 3 *\p{Cc}\[39m/u);
      await using plain = await InTerminal.open(['ps'], { env: { ...background.env, NO_COLOR: '1' } });
      assert.doesNotMatch((await plain.rest()).text, /\p{Cc}\[/u);
    });

    test('redraws --watch in place in a small window, and cuts what does not fit', async () => {
      for (const name of ['w1', 'w2', 'w3', 'w4']) await start(name, '--', 'sh', '-c', `exec sleep 600 # ${'long '.repeat(30)}`);
      await using watching = await InTerminal.open(['ps', '--watch', '--running'], { env: { ...background.env, NO_COLOR: '1' } });
      await watching.child.resize({ rows: 4, cols: 40 });
      const small = /\p{Cc}\[H(NAME .*)\p{Cc}\[K\r\n(w1 .*)\p{Cc}\[K\r\n(\.\.\. 3 more)\p{Cc}\[K\r\n\p{Cc}\[J/u;
      const frames = await watching.see(small);
      for (const line of small.exec(frames)?.slice(1) ?? []) assert.ok(line.length <= 40, line);
      assert.equal(frames.split('\x1b[2J').length, 2);
      await watching.type('\u0003');
      await watching.rest();
      await background.good(['kill', '--all']);
    });

    test('keeps running with --watch: prints again when something has changed, ends with Ctrl-C', async () => {
      const child = startSluice(['ps', '--watch', '--json', '--running'], { env: background.env });
      const out = collect(child.stdout);
      // A process that is seen before it is released has another session afterwards, which is printed too.
      const lines = () =>
        Buffer.concat(out)
          .toString()
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as ProcessStatus[]).length)
          .filter((count, index, counts) => count !== counts[index - 1]);
      await once(child.stdout, 'data');
      await start('watched', ...ticking);
      await eventually(() => assert.deepEqual(lines(), [0, 1]));
      await background.good(['kill', 'watched']);
      await eventually(() => assert.deepEqual(lines(), [0, 1, 0]));
      child.kill('SIGINT');
      assert.equal(await ended(child), 0);
    });
  });

  describe('sluice logs', () => {
    before(async () => {
      await start('mixed', '--', 'sh', '-c', 'echo one; echo two >&2; printf "\\033[31mred\\033[0m\\n"; printf "no end"');
      await background.run(['wait', 'mixed']);
    });

    test('prints everything, one stream, the last lines, or what follows a sequence number', async () => {
      // The order in which two pipes are read is not guaranteed.
      assert.match(await background.good(['logs', 'mixed']), /^(?=[^]*one\n)(?=[^]*two\n)(?=[^]*red\n)(?=[^]*no end)[^]{18}$/);
      assert.equal(await background.good(['logs', '--stream', 'stdout', 'mixed']), 'one\nred\nno end');
      assert.equal(await background.good(['logs', '--stream=stderr', 'mixed']), 'two\n');
      assert.equal(await background.good(['logs', '--stream', 'stdout', '-n', '2', 'mixed']), 'red\nno end');
      assert.equal(await background.good(['logs', '--tail', '0', 'mixed']), '');
      assert.equal(await background.good(['logs', '--since-seq', '1000', 'mixed']), '');
      assert.match(
        (await background.run(['logs', '--stream', 'stdin', 'mixed'])).stderr,
        /--stream must be one of stdout, stderr, got "stdin"/,
      );
    });

    test('accepts --tail and --follow in every order and spelling', async () => {
      await start('counted', '--', 'sh', '-c', 'seq 1 30; read -r line; echo over');
      await eventually(async () => assert.match(await background.good(['logs', 'counted']), /\n30\n$/));
      const spelled = [['-n', '2', '-f'], ['-f', '-n', '2'], ['-fn2'], ['-fn', '2'], ['-2', '-f'], ['--follow', '--tail=2']];
      const followers = spelled.map((flags) => startSluice(['logs', ...flags, 'counted'], { env: background.env }));
      const outputs = followers.map(({ stdout }) => collect(stdout));
      await eventually(() => {
        for (const output of outputs) assert.equal(Buffer.concat(output).toString(), '29\n30\n');
      });
      await background.good(['send', 'counted', '--key', 'enter']);
      for (const follower of followers) assert.equal(await ended(follower), 0);
      for (const output of outputs) assert.equal(Buffer.concat(output).toString(), '29\n30\nover\n');
      assert.match((await background.run(['logs', '--lines', '2', 'counted'])).stderr, /"--lines"; did you mean --tail\?/);
    });

    test('keeps escape sequences with --raw, and on a terminal', async () => {
      assert.match(await background.good(['logs', '--raw', 'mixed']), /\p{Cc}\[31mred\p{Cc}\[0m\n/u);
      await using terminal = await InTerminal.open(['logs', 'mixed'], { env: background.env });
      assert.match((await terminal.rest()).text, /\p{Cc}\[31mred\p{Cc}\[0m\r\n/u);
    });

    test('prints a line that says how much is missing', async () => {
      // Written in pieces of 64 KiB at most, so that something must be evicted whatever the pieces are.
      await start('long', '--', 'awk', 'BEGIN { for (i = 0; i < 60000; i++) print "line " i " of many" }');
      await background.run(['wait', 'long']);
      const text = await background.good(['logs', 'long']);
      const missing = Number(/^\[sluice: (\d+) bytes are missing here; .*\]$/m.exec(text)?.[1]);
      const total = Array.from({ length: 60_000 }, (_, index) => `line ${index} of many\n`).join('').length;
      const shown = text.replace(/\n?\[sluice: [^\n]*\]\n/, '');
      assert.ok(Math.abs(shown.length + missing - total) <= 1, `${shown.length} shown and ${missing} missing of ${total}`);
      assert.match(text, /^line 0 of many\n/);
      assert.match(text, /line 59999 of many\n$/);
    });

    test('says at each of several gaps how much is missing there', async () => {
      // The beginning of stderr is kept, alone between two gaps.
      const flood = 'head -c 1500000 /dev/zero | tr "\\0" x';
      await start('holes', '--', 'sh', '-c', `${flood}; sleep 0.1; echo; echo middle >&2; sleep 0.1; ${flood}`);
      await background.run(['wait', 'holes']);
      const text = await background.good(['logs', 'holes']);
      const [, head = '', middle = '', tail = ''] =
        /^(x+)\n\[sluice: \d+ bytes[^\n]*\n\n?((?:x*\n)?middle\n)\[sluice: \d+ bytes[^\n]*\n(x+)$/.exec(text) ??
        assert.fail(text.replace(/x+/g, 'x'));
      const missing = [...text.matchAll(/\[sluice: (\d+) bytes/g)].map(([, bytes]) => Number(bytes));
      const shown = head.length + middle.length + tail.length;
      assert.equal(shown + missing.reduce((sum, bytes) => sum + bytes, 0), 3_000_008);
    });

    test('keeps printing with --follow until the process ends, and refuses an unknown process', async () => {
      const child = startSluice(['logs', '-f', 'followed'], { env: background.env });
      const early = collect(child.stderr);
      assert.equal(await ended(child), 125);
      assert.match(Buffer.concat(early).toString(), /there is no process "followed"/);
      await start('followed', '--', 'sh', '-c', 'while read -r line; do echo "got $line"; done; echo over');
      const follower = startSluice(['logs', '--follow', 'followed'], { env: background.env });
      const out = collect(follower.stdout);
      for (const word of ['a', 'b', 'c']) {
        await background.good(['send', 'followed', `${word}\n`]);
        await eventually(() => assert.match(Buffer.concat(out).toString(), new RegExp(`got ${word}\\n$`)));
      }
      await background.good(['send', '--eof', 'followed']);
      assert.equal(await ended(follower), 0);
      assert.equal(Buffer.concat(out).toString(), 'got a\ngot b\ngot c\nover\n');
    });

    test('exits with 141 when its stdout is no longer read', async () => {
      await start('endless', ...ticking);
      const child = startSluice(['logs', '-f', 'endless'], { env: background.env });
      await once(child.stdout, 'data');
      child.stdout.destroy();
      assert.equal(await ended(child), 141);
      await background.good(['kill', 'endless']);
    });
  });

  test('sluice snapshot prints beginning and end, or JSON', async () => {
    await start('snap', '--', 'sh', '-c', 'printf "\\033[1mbold\\033[0m\\n"; echo err >&2');
    await background.run(['wait', 'snap']);
    assert.equal(await background.good(['snapshot', 'snap']), 'bold\nerr\n');
    assert.equal(await background.good(['snapshot', '--raw', '--stream', 'stdout', 'snap']), '\x1b[1mbold\x1b[0m\n');
    const { nextSeq: _, ...facts } = JSON.parse(
      await background.good(['snapshot', '--json', '--stream', 'stderr', 'snap']),
    ) as Record<string, unknown>;
    assert.deepEqual(facts, {
      processId: 'snap',
      running: false,
      exitCode: 0,
      streams: { stderr: { head: 'ZXJyCg==', tail: '', truncated: false, droppedBytes: 0 } },
    });
    assert.match(
      await background.good(['snapshot', 'long']),
      /line 0 of many\n.*\n\[sluice: \d+ bytes are missing here;.*line 59999 of many\n$/s,
    );
  });

  test('sluice wait exits as the process did, or with 124', async () => {
    await start('exits', '--', 'sh', '-c', 'read -r line; exit 6');
    assert.deepEqual(await background.run(['wait', '--timeout', '50ms', 'exits']), {
      status: 124,
      stdout: '',
      stderr: 'sluice: exits is still running\n',
    });
    const waiting = background.run(['wait', '--json', 'mixed', 'exits']);
    await background.good(['send', 'exits', 'go\n']);
    const { status, stdout } = await waiting;
    assert.equal(status, 6);
    const endings = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { processId: string; code: number; reason: string });
    assert.deepEqual(
      endings.map(({ processId, code, reason }) => [processId, code, reason]),
      [
        ['mixed', 0, 'exited'],
        ['exits', 6, 'exited'],
      ],
    );
  });

  test('sluice send types texts and keys in order, a file, and the end of input', async () => {
    await start('typed', '--', 'cat', '-v');
    await background.good(['send', 'typed', 'a', '--key', 'ctrl-c', 'b', '-k', 'up', '--key=enter', 'c\n']);
    await background.good(['send', 'typed', '--stdin', '--eof'], { input: 'from a file\n' });
    await background.run(['wait', 'typed']);
    assert.equal(await background.good(['logs', 'typed']), 'a^Cb^[[A\nc\nfrom a file\n');
    assert.match((await background.run(['send', 'typed', 'x'])).stderr, /the stdin of typed is closed/);
    assert.match(
      (await background.run(['send', 'typed', '--key', 'strange'])).stderr,
      /unknown key "strange"; use a character, ctrl-c/,
    );
    assert.match((await background.run(['send', 'typed'])).stderr, /send needs a text, --key, --stdin or --eof/);
  });

  test('sluice resize sets the size of a terminal', async () => {
    await start('sized', '-t', '--', 'sh', '-c', 'trap "stty size; exit" WINCH; echo ready; while :; do sleep 0.05; done');
    await eventually(async () => assert.match(await background.good(['logs', 'sized']), /ready/));
    await background.good(['resize', 'sized', '132x43']);
    assert.match(await background.good(['logs', '-f', 'sized']), /\n43 132\n$/);
    for (const wrong of ['132', 'axb', '132x43x1']) {
      assert.match((await background.run(['resize', 'sized', wrong])).stderr, /resize needs a process and a size/);
    }
    await start('pipes', ...ticking);
    assert.match((await background.run(['resize', 'pipes', '80x24'])).stderr, /process pipes has no terminal/);
    await background.good(['kill', '-f', 'pipes']);
  });

  test('sluice kill takes signals as kill(1) does; SIGKILL ends the whole tree', async () => {
    for (const spelled of ['-9', '-KILL', '-SIGKILL', '-kill', '-s9', '--signal=kill']) {
      await start('k', '--rm', '--', 'sh', '-c', 'setsid sleep 600 & echo $! $$; trap "" TERM; while :; do sleep 0.05; done');
      const pids = await eventually(async () => {
        const text = await background.good(['logs', 'k']);
        return /^(\d+) (\d+)\n$/.exec(text)?.slice(1).map(Number) ?? assert.fail(text);
      });
      await background.good(['kill', spelled, 'k']);
      assert.deepEqual(await living(pids), [], spelled);
    }
    for (const spelled of [['-2'], ['-INT'], ['-s', '2']]) {
      await start('i', '--rm', '--', 'sh', '-c', 'trap "echo asked" INT; echo ready; while :; do sleep 0.05; done');
      await eventually(async () => assert.equal(await background.good(['logs', 'i']), 'ready\n'));
      await background.good(['kill', ...spelled, 'i']);
      await eventually(async () => assert.equal(await background.good(['logs', 'i']), 'ready\nasked\n'));
      await background.good(['kill', '-9', 'i']);
    }
    for (const [wrong, problem] of [
      ['-99', 'there is no signal "99"; use a name such as INT, or its number'],
      ['-x', 'unknown option "-x"; "sluice kill --help" lists all options'],
    ] as const) {
      const { status, stderr } = await background.run(['kill', wrong, 'i']);
      assert.deepEqual([status, stderr], [125, `sluice: ${problem}\n`]);
    }
  });

  test('sluice kill ends trees, sends signals, takes several names, and --all', async () => {
    const tree = 'setsid sleep 600 & echo $! $$; trap "" TERM; while :; do sleep 0.05; done';
    await start('tree', '--', 'sh', '-c', tree);
    const pids = await eventually(async () => {
      const text = await background.good(['logs', 'tree']);
      return /^(\d+) (\d+)\n$/.exec(text)?.slice(1).map(Number) ?? assert.fail(text);
    });
    await background.good(['kill', '--grace', '100ms', 'tree']);
    assert.deepEqual(await living(pids), []);
    assert.deepEqual(await background.run(['kill', 'tree']), {
      status: 1,
      stdout: '',
      stderr: 'sluice: tree has already ended\n',
    });

    await start('asked', '--', 'sh', '-c', 'trap "exit 8" INT; echo ready; while :; do sleep 0.05; done');
    await eventually(async () => assert.equal(await background.good(['logs', 'asked']), 'ready\n'));
    await background.good(['kill', '--signal', 'INT', 'asked']);
    assert.equal((await background.run(['wait', 'asked'])).status, 8);

    for (const name of ['k1', 'k2', 'k3']) await start(name, '--', 'sleep', '600');
    await background.good(['kill', '--force', 'k1', 'k2']);
    assert.equal((await background.run(['wait', 'k1'])).status, 137);
    await background.good(['kill', '--all']);
    assert.equal((await background.run(['wait', 'k3'])).status, 143);
    assert.equal(await background.good(['ps', '-q', '-r']), '');
    assert.match((await background.run(['kill', '--all', 'k1'])).stderr, /--all and names exclude each other/);
    assert.match((await background.run(['kill', '-s', 'INT', '-f', 'k1'])).stderr, /--signal sends one signal and nothing else/);
  });
});
