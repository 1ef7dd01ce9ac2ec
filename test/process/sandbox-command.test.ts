// A command behaves inside the sandbox as it does outside: its bytes, its name, its environment, its signals, its terminal and its end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import type { SpawnSpec } from '#src/process/index.js';
import { errnoOf, findProgram } from '#src/process/start/spawn-failure.js';
import { isExecError } from '#src/protocol/index.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import {
  env,
  fullAccess,
  noSandbox,
  outcome,
  prepared,
  putProgram,
  readOnly,
  scratchFolders,
  shell,
  workspaceOnly,
  wrapped,
} from '../support/sandboxed.js';
import { outputText } from '../support/output-text.js';

guardAgainstLeaks();

const folders = scratchFolders();
const openPipe = { kind: 'pipe', stdin: 'open' } as const;
const terminal = { kind: 'pty', rows: 30, cols: 100 } as const;

describe('a sandboxed command', { skip: noSandbox }, () => {
  test('ends with its own exit code, or with 128 plus the number of the signal that killed it', async () => {
    const scripts = ['exit 0', 'exit 3', 'exit 255', 'kill -9 $$', 'kill -15 $$'];
    const outcomes = await Promise.all(scripts.map((script) => outcome(shell(script), readOnly)));
    assert.deepEqual(outcomes, ['exit 0: ', 'exit 3: ', 'exit 255: ', 'exit 137: ', 'exit 143: ']);
  });

  test('receives every byte written to it, and every byte it writes is read', async () => {
    await using client = connectInProcess();
    const bytes = randomBytes(1_000_000);
    await using child = await client.start({
      prepared: await prepared({ ...shell('cat; echo error >&2'), io: openPipe }, readOnly),
    });
    const writing = (async () => {
      for (let at = 0; at < bytes.length; at += 50_000) await child.write(bytes.subarray(at, at + 50_000));
      await child.closeStdin();
    })();
    const read: Record<string, Uint8Array[]> = { stdout: [], stderr: [] };
    for await (const chunk of child.output) read[chunk.stream]?.push(chunk.bytes);
    await writing;
    assert.equal(Buffer.concat(read['stdout'] ?? []).equals(bytes), true);
    assert.equal(Buffer.concat(read['stderr'] ?? []).toString(), 'error\n');
  });

  test('has exactly the environment it was given', async () => {
    const variables = { ...env, 'odd.name': '1', EMPTY: '', LINES: 'two\nlines', LD_LIBRARY_PATH: '/none', LANGUAGE: 'xx' };
    for (const given of [variables, { ...variables, PWD: '/elsewhere', OLDPWD: '/' }]) {
      const found = (await outcome({ argv: ['env', '-0'], cwd: folders.workspace, env: given }, readOnly)).slice(
        'exit 0: '.length,
      );
      const expected = Object.entries(given).map(([name, value]) => `${name}=${value}`);
      assert.deepEqual(found.split('\0').slice(0, -1).toSorted(), expected.toSorted());
    }
  });

  test('cannot influence what is loaded outside', async () => {
    // With these variables, the loader of every program leaves a file.
    const trace = { ...env, LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(folders.outside, 'trace') };
    await outcome({ ...shell('true'), cwd: folders.workspace, env: trace }, workspaceOnly);
    assert.deepEqual(readdirSync(folders.outside), []);
    await outcome({ ...shell('true'), cwd: folders.workspace, env: trace }, fullAccess);
    assert.notDeepEqual(readdirSync(folders.outside), []);
  });

  test('cannot influence perl outside, which the portable backend needs on a terminal', async () => {
    const module = join(folders.workspace, 'Trace.pm');
    writeFileSync(module, `package Trace; open my $file, '>', '${folders.outside}/trace'; 1;`);
    const trace = { ...env, PERL5OPT: '-MTrace', PERL5LIB: folders.workspace };
    await using client = connectInProcess({ backend: 'portable' });
    const command = { ...shell('echo "$PERL5OPT"'), cwd: folders.workspace, env: trace, io: terminal };
    await using child = await client.start({ prepared: await prepared(command, workspaceOnly) });
    assert.equal(await outputText(child), '-MTrace\r\n');
    assert.deepEqual(readdirSync(folders.outside), []);
  });

  test('has the same working folder, umask and open files as outside', async () => {
    const link = join(folders.root, 'link');
    symlinkSync(folders.workspace, link);
    const command = { ...shell('pwd -P; umask; ls /proc/$$/fd'), cwd: link, env: { PATH: env['PATH'] ?? '' } };
    assert.equal(await outcome(command, readOnly), await outcome(command, fullAccess));
  });

  const ownName = shell('tr "\\0" " " < /proc/$$/cmdline').argv;

  test('sees the name it was started with, even if that is not its file’s', async () => {
    const program = { kind: 'exact', path: findProgram('sh', '/', env['PATH']) } as const;
    const named = (name: string) => ({ program, argv: [name, ...ownName.slice(1)] });
    const specs: Partial<SpawnSpec>[] = [
      { argv: ownName },
      named(program.path),
      named('-another name'),
      { argv: ownName, arg0: 'a=b' },
      { argv: ownName, arg0: '' },
    ];
    await using client = connectInProcess();
    const names = [];
    for (const spec of specs) {
      await using child = await client.start({ prepared: wrapped(spec, readOnly) });
      names.push((await outputText(child)).split(' -c ')[0]);
    }
    assert.deepEqual(names, ['sh', program.path, '-another name', 'a=b', '']);
  });

  test('is found in its own PATH and folder, even under unusual names', async () => {
    for (const name of ['plain', 'with space', 'a=b', '-x', '-']) {
      putProgram(join(folders.workspace, name), `#!/bin/sh\necho "$# $1"\n`);
      const command = { cwd: folders.workspace, env: { PATH: `.:${env['PATH']}` } };
      assert.equal(await outcome({ ...command, argv: [name, '--version', 'x'] }, readOnly), 'exit 0: 2 --version', name);
      assert.equal(await outcome({ ...command, argv: [`./${name}`, ''] }, readOnly), 'exit 0: 1', name);
    }
  });

  test('that cannot run is refused with the same errors as outside', async () => {
    const plain = join(folders.workspace, 'plain');
    writeFileSync(plain, 'text');
    const script = putProgram(join(folders.workspace, 'script'), '#!/none/python\n');
    const failure = async (argv: readonly string[], cwd = folders.workspace) => {
      try {
        await prepared({ argv, cwd }, readOnly);
      } catch (error) {
        if (isExecError(error, 'spawnFailed'))
          return `${error.data.failure}: ${error.data.problem.replaceAll(folders.root, '~')}`;
        throw error;
      }
      return 'none';
    };
    assert.deepEqual(
      [
        await failure(['./none']),
        await failure([plain]),
        await failure([script]),
        await failure([]),
        await failure(['true'], join(folders.root, 'none')),
        await failure(['true'], plain),
        await failure(Array.from({ length: 9_000 }, () => 'true')),
      ].map((text) => text.replace(/at most \d+/, 'at most N')),
      [
        'programNotFound: program "~/workspace/none" does not exist',
        'notExecutable: "~/workspace/plain" is not an executable file',
        'programNotFound: "/none/python", the interpreter of "~/workspace/script", does not exist',
        'badArgument: argv must not be empty',
        'cwdNotFound: cwd "~/none" is not a reachable folder',
        'cwdNotDirectory: cwd "~/workspace/plain" is not a reachable folder',
        'badArgument: argv has 9000 strings; this sandbox allows at most N',
      ],
    );
  });

  test('can have thousands of arguments', async () => {
    const many = Array.from({ length: 8_900 }, (_, index) => String(index));
    assert.equal(await outcome(shell('echo $# "${8900}"', ...many), readOnly), 'exit 0: 8900 8899');
  });

  test('handles SIGTERM in its own way and time', async () => {
    await using client = connectInProcess();
    const script = `trap 'echo asked; sleep 0.2; echo done; exit 3' TERM; echo ready; while :; do sleep 0.05; done`;
    await using child = await client.start({ prepared: await prepared(shell(script), readOnly) });
    await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
    await child.terminate({ forceAfterMs: 20_000 });
    const text = await outputText(child);
    const ending = await child.closed;
    assert.deepEqual([text.replace('Terminated\n', ''), ending.kind === 'code' && ending.code], ['asked\ndone\n', 3]);
  });

  test('has the same signals delivered, blocked and ignored as outside', async () => {
    await using client = connectInProcess();
    const script = `trap 'echo heard' USR1; echo ready; while :; do sleep 0.05; done`;
    await using child = await client.start({ prepared: await prepared(shell(script), readOnly) });
    await child.collectUntil({ deadlineMs: 20_000, text: 'ready' });
    await child.signal('SIGUSR1');
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'heard' })).reason, 'text');
    const status = await outcome({ argv: ['grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status'] }, readOnly);
    assert.equal(status, 'exit 0: SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000');
  });
});

describe('a sandboxed terminal', { skip: noSandbox }, () => {
  test('is the controlling terminal, can be resized, and Ctrl-C interrupts a command that then continues', async () => {
    await using client = connectInProcess();
    const script = `trap 'echo interrupted' INT; echo here > /dev/tty; tty -s && stty size; while :; do read -r line && echo "$line" "$(stty size)"; done`;
    await using child = await client.start({ prepared: await prepared({ ...shell(script), io: terminal }, readOnly) });
    await child.collectUntil({ deadlineMs: 20_000, text: 'here\r\n30 100\r\n' });
    await child.write('\u0003');
    await child.collectUntil({ deadlineMs: 20_000, text: 'interrupted\r\n' });
    await child.resize({ rows: 40, cols: 120 });
    await child.write('still\n');
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'still 40 120\r\n' })).reason, 'text');
  });

  test('has job control', async () => {
    await using client = connectInProcess();
    const argv = ['sh', '-i'];
    await using child = await client.start({
      prepared: await prepared({ argv, io: terminal, env: { ...env, PS1: '> ' } }, readOnly),
      forceAfterMs: 0, // a shell at its prompt ignores SIGTERM
    });
    await child.collectUntil({ deadlineMs: 20_000, text: '> ' });
    await child.write('echo $$; sleep 600\n');
    await child.collectUntil({ deadlineMs: 20_000, text: /\n\d+\r\n/ });
    await eventually(async () => {
      await child.write('\u001a');
      assert.match((await child.collectUntil({ deadlineMs: 200, text: 'Stopped' })).text, /Stopped/);
    });
    await child.write('kill %1; echo gone $((40 + 2))\n');
    assert.equal((await child.collectUntil({ deadlineMs: 20_000, text: 'gone 42\r\n' })).reason, 'text');
  });
});

describe('nothing is left of a sandboxed command', { skip: noSandbox }, () => {
  /** A child, a child in its own session and an orphan, all of which ignore signals. Each has the token as its name. */
  const family = (token: string) => {
    const stubborn = `sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' ${token}`;
    return shell(`trap "" TERM HUP INT; ${stubborn} & setsid ${stubborn} & (setsid ${stubborn} &); while :; do sleep 1; done`);
  };

  const started = (token: string) => eventually(() => assert.equal(living((words) => words.includes(token)).length, 3));

  const nothingLeft = (token: string) =>
    assert.deepEqual(
      living((words) => words.join(' ').includes(token)),
      [],
    );

  for (const backend of ['linux', 'portable'] as const) {
    for (const io of [openPipe, terminal]) {
      test(`when it is terminated, even if its children left its session, on ${io.kind === 'pty' ? 'a terminal' : 'pipes'}, ${backend} backend`, async () => {
        const token = `token-${randomBytes(8).toString('hex')}`;
        await using client = connectInProcess({ backend });
        await using child = await client.start({ prepared: await prepared({ ...family(token), io }, workspaceOnly) });
        await started(token);
        await child.terminate({ forceAfterMs: 100 });
        await child.closed;
        nothingLeft(token);
      });
    }
  }

  test('when it has exited on its own', async () => {
    const token = `token-${randomBytes(8).toString('hex')}`;
    await using client = connectInProcess();
    const script = `(setsid sh -c 'echo up; exec >/dev/null 2>&1; sleep 600' ${token} &); read -r line; exit 4`;
    await using child = await client.start({ prepared: await prepared({ ...shell(script), io: openPipe }, readOnly) });
    await child.collectUntil({ deadlineMs: 20_000, text: 'up' });
    await child.closeStdin();
    const ending = await child.closed;
    assert.equal(ending.kind === 'code' && ending.code, 4);
    await eventually(() => nothingLeft(token));
  });

  test('when the program that started it is killed, even without a watchdog', async (t) => {
    const token = `token-${randomBytes(8).toString('hex')}`;
    t.after(() => living((words) => words.join(' ').includes(token)).forEach((pid) => process.kill(pid, 'SIGKILL')));
    const { program, argv, env: variables, fd3 } = await prepared(family(token), readOnly);
    const script = `const [, file, filter, ...args] = process.argv;
      const stdio = ['ignore', 'ignore', 'ignore', 'pipe'];
      require('node:child_process').spawn(file, args, { stdio }).stdio[3].end(Buffer.from(filter, 'hex'))`;
    const filter = Buffer.from(fd3 ?? []).toString('hex');
    const host = spawn(process.execPath, ['-e', script, program, filter, ...argv.slice(1)], { env: variables, stdio: 'ignore' });
    await started(token);
    host.kill('SIGKILL');
    await eventually(() => nothingLeft(token));
  });
});

/** Pids of processes whose arguments match, as seen from outside. */
function living(isMatch: (words: readonly string[]) => boolean): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && isMatch(argumentsOf(pid)));
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ESRCH') return [];
    throw error;
  }
}
