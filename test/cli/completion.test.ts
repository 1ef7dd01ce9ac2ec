// `sluice completion`: its scripts, run by the shells themselves.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { commands } from '#src/cli/commands.js';
import { spellings } from '#src/cli/command.js';
import { keyNames } from '#src/cli/keys.js';
import { Background, InTerminal, sluice } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { program } from '../support/sluice-server.js';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Why a shell cannot be tested on this machine, or false when it can. */
function missing(shell: Shell): string | false {
  return spawnSync(shell, ['-c', ':']).error === undefined ? false : `${shell} is not installed`;
}

/** A folder to complete in, with files, a script for each shell, and a `sluice` to find on the PATH. */
class Desk implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  readonly env: Record<string, string>;

  constructor(sluiceText: string) {
    mkdirSync(join(this.folder, 'bin'));
    mkdirSync(join(this.folder, 'work'));
    mkdirSync(join(this.folder, 'work', 'folder'));
    writeFileSync(join(this.folder, 'work', 'folded-file'), '');
    writeFileSync(join(this.folder, 'bin', 'sluice'), `#!/bin/sh\n${sluiceText}\n`, { mode: 0o755 });
    for (const shell of shells) writeFileSync(this.script(shell), scripts[shell]);
    this.env = { PATH: `${join(this.folder, 'bin')}${delimiter}${process.env['PATH']}`, HOME: this.folder };
  }

  script(shell: Shell): string {
    return join(this.folder, `script.${shell}`);
  }

  run(command: readonly [string, ...string[]], env: NodeJS.ProcessEnv = {}): string {
    const [file, ...args] = command;
    const ran = spawnSync(file, args, {
      encoding: 'utf8',
      cwd: join(this.folder, 'work'),
      env: { ...process.env, ...this.env, ...env },
    });
    assert.deepEqual({ status: ran.status, stderr: ran.stderr }, { status: 0, stderr: '' });
    return ran.stdout;
  }

  /** What bash offers at the end of a line, asked as readline asks: it splits at blanks, and around : and =. */
  bash(line: string, env: NodeJS.ProcessEnv = {}): string[] {
    const words = line.split(' ').flatMap((word) => (word === '' ? [''] : word.split(/([:=]+)/).filter((part) => part !== '')));
    const last = words.at(-1) ?? '';
    const ask = [
      'source "$1"',
      'COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("${@:4}") COMP_CWORD=$(($# - 4))',
      '_sluice sluice "$3" ""',
      'printf \'%s\\n\' ${COMPREPLY[@]+"${COMPREPLY[@]}"}',
    ].join('\n');
    const asked = /^[:=]+$/.test(last) ? '' : last;
    const flags = ['--norc', '--noprofile', '-u', '-c', ask, 'bash'] as const;
    return lines(this.run(['bash', ...flags, this.script('bash'), line, asked, ...words], env));
  }

  /** What fish offers at the end of a line, without the descriptions. */
  fish(line: string): string[] {
    const found = this.run(['fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', this.script('fish'), line]);
    return lines(found).map((row) => row.replace(/\t.*$/, ''));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

function lines(text: string): string[] {
  return text.split('\n').filter((row) => row !== '');
}

/** Replaces the program: lists processes, also those of another server, and otherwise prints its arguments. */
const standIn = `
case "$*" in
  'ps --quiet') printf '%s\\n' web worker 'two words' has:colon ;;
  'ps --quiet --connect ws://host:4500') echo remote ;;
  ps*) echo 'sluice: no such server' >&2; exit 125 ;;
  *) printf '<%s>' "$@"; echo ;;
esac`;

const scripts: Record<Shell, string> = { bash: '', zsh: '', fish: '' };

describe('sluice completion', () => {
  guardAgainstLeaks();

  before(async () => {
    for (const shell of shells) scripts[shell] = (await sluice(['completion', shell])).stdout;
  });

  test('refuses an unknown shell, or none, in one line', async () => {
    for (const [args, got] of [
      [[], ''],
      [['tcsh'], ', got "tcsh"'],
      [['bash', 'zsh'], ', got "bash zsh"'],
    ] as const) {
      assert.deepEqual(await sluice(['completion', ...args]), {
        status: 125,
        stdout: '',
        stderr: `sluice: completion needs one of bash, zsh, fish${got}; as in: sluice completion bash\n`,
      });
    }
  });

  for (const shell of shells) {
    test(`prints a script that ${shell} can read`, { skip: missing(shell) }, () => {
      using desk = new Desk(standIn);
      assert.equal(desk.run([shell, '-n', desk.script(shell)]), '');
    });

    test(`has every command and every option in the script for ${shell}`, async () => {
      const words = new Set(scripts[shell].split(/[^\w-]+/));
      for (const { name, load } of commands) {
        const { options } = (await load()).manual;
        const long = spellings(options).map((spelled) => (shell === 'fish' ? spelled.slice(2) : spelled));
        const short = Object.values(options).flatMap((option) => (option.short === undefined ? [] : [option.short]));
        const expected = [name, ...long, ...short.map((letter) => (shell === 'fish' ? letter : `-${letter}`))];
        assert.deepEqual(
          expected.filter((word) => !words.has(word)),
          [],
          name,
        );
      }
    });
  }

  for (const shell of ['bash', 'fish'] as const) {
    test(`offers every option of a command and no other in ${shell}`, { skip: missing(shell) }, async () => {
      using desk = new Desk(standIn);
      for (const { name, load } of commands) {
        const { options } = (await load()).manual;
        const short = Object.values(options).flatMap((option) => (option.short === undefined ? [] : [`-${option.short}`]));
        const all = [...spellings(options), ...short, '--help', '-h'];
        assert.deepEqual(desk[shell](`sluice ${name} -`).toSorted(), all.toSorted(), name);
      }
    });
  }

  const offers: [line: string, offered: readonly string[]][] = [
    ['sluice ex', ['exec']],
    ['sluice -', ['--help', '-h', '--version', '-V']],
    ['sluice exec --ti', ['--timeout']],
    ['sluice exec --timeout 3s --tt', ['--tty']],
    ['sluice serve --no-m', ['--no-metrics-open']],
    ['sluice logs --stream ', ['stdout', 'stderr']],
    ['sluice send web --key ', keyNames],
    ['sluice send -k page', ['page-up', 'page-down']],
    ['sluice kill --signal US', ['USR1', 'USR2']],
    ['sluice kill -fs US', ['USR1', 'USR2']],
    ['sluice exec --name ', []],
    ['sluice exec --env-file fol', ['folder', 'folded-file']],
    ['sluice exec -C fol', ['folder']],
    ['sluice kill w', ['web', 'worker']],
    ['sluice kill -s INT web wor', ['worker']],
    ['sluice kill -fsINT -- we', ['web']],
    ['sluice send wo', ['worker']],
    ['sluice send web wo', []],
    ['sluice logs --connect ws://host:4500 ', ['remote']],
    ['sluice logs --connect ws://nowhere ', []],
    ['sluice completion ', shells],
    ['sluice help sn', ['snapshot']],
    ['sluice help exec sn', []],
    ['sluice ps w', []],
  ];

  test('completes commands, options, values, files and process names in bash', () => {
    using desk = new Desk(standIn);
    for (const [line, offered] of offers) assert.deepEqual(desk.bash(line).toSorted(), offered.toSorted(), line);
  });

  test('completes the same in fish', { skip: missing('fish') }, () => {
    using desk = new Desk(standIn);
    // fish marks folders itself.
    const found = (line: string) => desk.fish(line).map((word) => word.replace(/\/$/, ''));
    for (const [line, offered] of offers) assert.deepEqual(found(line).toSorted(), offered.toSorted(), line);
  });

  test('copes with bash splitting words at : and =', () => {
    using desk = new Desk(standIn);
    assert.deepEqual(desk.bash('sluice logs --stream='), ['stdout', 'stderr']);
    assert.deepEqual(desk.bash('sluice logs --stream=stde'), ['stderr']);
    assert.deepEqual(desk.bash('sluice kill has:'), ['colon']);
    assert.deepEqual(desk.bash('sluice logs --connect=ws://host:4500 re'), ['remote']);
  });

  const commandLines = ['sluice exec slui', 'sluice exec -t -e A=b:c -- slui', 'sluice exec -tCfolder slui'];

  test('completes the command after exec in bash, and offers none of our options for its arguments', () => {
    using desk = new Desk(standIn);
    for (const line of commandLines) assert.ok(desk.bash(line).includes('sluice'), line);
    assert.deepEqual(desk.bash('sluice exec ls fol').toSorted(), ['folded-file', 'folder']);
    assert.deepEqual(desk.bash('sluice exec ls --ti'), []);
  });

  test('completes the command after exec in fish, and its arguments as its own', { skip: missing('fish') }, () => {
    using desk = new Desk(standIn);
    for (const line of commandLines) assert.ok(desk.fish(line).includes('sluice'), line);
    assert.deepEqual(desk.fish('sluice exec -C folder sluice kill wor'), ['worker']);
    assert.deepEqual(desk.fish('sluice exec sluice exec ls --ti'), []);
  });

  test('completes the process names of a real background server', async () => {
    await using background = new Background();
    using desk = new Desk(`exec '${process.execPath}' -- '${program}' "$@"`);
    for (const name of ['web', 'worker']) await background.good(['exec', '-d', '--name', name, '--', 'sleep', '600']);
    assert.deepEqual(desk.bash('sluice kill w', background.env).toSorted(), ['web', 'worker']);
    const url = `unix://${join(background.folder, 'sluice', 'socket')}`;
    const elsewhere = { ...background.env, XDG_RUNTIME_DIR: desk.folder };
    assert.deepEqual(desk.bash(`sluice logs --connect ${url} wo`, elsewhere), ['worker']);
    assert.deepEqual(desk.bash('sluice logs wo', elsewhere), []);
  });

  const typed: [keys: string, given: string][] = [
    ['sluice ex\t--tt\t-- a', '<exec><--tty><--><a>'],
    ['sluice kill wor\t', '<kill><worker>'],
    ['sluice kill tw\t', '<kill><two words>'],
    ['sluice kill "tw\t', '<kill><two words>'],
    ['sluice kill ha\t', '<kill><has:colon>'],
    ['sluice logs --stream=stde\tx', '<logs><--stream=stderr><x>'],
    ['sluice logs --connect=ws://host:4500 r\t', '<logs><--connect=ws://host:4500><remote>'],
    ['sluice exec --env-file ~/work/folded\tx', '<exec><--env-file><HOME/work/folded-file><x>'],
    ['sluice exec --cwd ~/wor\tx', '<exec><--cwd><HOME/work/x>'],
    ['sluice exec -t -- slui\tx', '<exec><-t><--><sluice><x>'],
    ['sluice exec -- cat ~/work/folded\tx', '<exec><--><cat><HOME/work/folded-file><x>'],
  ];

  test('completes what is typed into a bash in a terminal', async () => {
    using desk = new Desk(standIn);
    await typesRight(desk, ['bash', '--norc', '--noprofile', '-i'], `source ${desk.script('bash')}`);
  });

  test('completes what is typed into a zsh in a terminal', { skip: missing('zsh') }, async () => {
    using desk = new Desk(standIn);
    const setUp = `autoload -U compinit; compinit -u -D; source ${desk.script('zsh')}`;
    await typesRight(desk, ['zsh', '-f', '-i'], setUp);
  });

  /** Has the shell run each line, so that the program itself prints its arguments, whatever the screen looks like. */
  async function typesRight(desk: Desk, command: readonly string[], setUp: string): Promise<void> {
    await using terminal = await InTerminal.open([], { command, env: { ...desk.env, INPUTRC: '/dev/null' } });
    await terminal.type(`${setUp}; sluice ready\r`);
    await terminal.see('<ready>');
    for (const [keys, given] of typed) {
      await terminal.type(`${keys}\r`);
      await terminal.see(given.replace('HOME', desk.folder));
    }
  }
});
