// How words on the command line are parsed: options, keys, quotes. No process is started here.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Manual, UsageError, type Word, defineCommand } from '#src/cli/command.js';
import { commands, findCommand } from '#src/cli/commands.js';
import { DetachKeys } from '#src/cli/detach-keys.js';
import { commandHelp, overview } from '#src/cli/help.js';
import { keyNames, parseKey } from '#src/cli/keys.js';
import { PlainText } from '#src/cli/plain-text.js';
import { readWords } from '#src/cli/read-words.js';
import { splitShellWords } from '#src/cli/shell-words.js';

const options = {
  quick: { kind: 'switch', short: 'q', meaning: 'x' },
  colour: { kind: 'toggle', short: 'c', meaning: 'x' },
  name: { kind: 'text', short: 'n', placeholder: 'NAME', meaning: 'x' },
  env: { kind: 'list', short: 'e', placeholder: 'K=V', meaning: 'x' },
  wait: { kind: 'duration', placeholder: 'TIME', meaning: 'x' },
  most: { kind: 'size', placeholder: 'BYTES', meaning: 'x' },
  lines: { kind: 'number', meaning: 'x' },
  stream: { kind: 'choice', choices: ['stdout', 'stderr'], meaning: 'x' },
} as const;

const manual = { name: 'try', usage: '', about: 'x', examples: [], options, operands: 'processes' } as const satisfies Manual;

/** The input that a command receives. */
async function given(args: readonly string[], operands: Manual['operands'] = 'processes') {
  let input: object = {};
  const command = defineCommand({ ...manual, operands }, async ({ flags, operands: rest }) => {
    input = { ...Object.fromEntries(Object.entries(flags).filter(([, value]) => !isNothing(value))), operands: rest };
    return 0;
  });
  await command.execute(readWords(command.manual, args));
  return input;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === false || (Array.isArray(value) && value.length === 0);
}

describe('names that other programs use', () => {
  for (const [typed, meant] of [
    ['stop', 'sluice kill'],
    ['run', 'sluice exec'],
    ['ls', 'sluice ps'],
    ['top', 'sluice ps --watch'],
    ['kil', 'sluice kill'],
  ] as const) {
    test(`"${typed}" suggests "${meant}"`, () => {
      assert.throws(() => findCommand(typed), new UsageError(`unknown command "${typed}"; did you mean "${meant}"?`));
    });
  }

  test('an option suggests its name here', async () => {
    const { manual: execManual } = await findCommand('exec').load();
    for (const typed of ['--workdir', '-w']) {
      assert.throws(() => readWords(execManual, [typed, '/', '--', 'true']), /; did you mean --cwd\?$/);
    }
  });
});

describe('options', () => {
  test('are accepted long and short, bundled, with their value apart or attached', async () => {
    const expected = { quick: true, name: 'x', env: ['A=1', 'B'], operands: ['web'] };
    assert.deepEqual(await given(['--quick', '--name', 'x', '--env', 'A=1', '--env=B', 'web']), expected);
    assert.deepEqual(await given(['-q', '-n', 'x', '-e', 'A=1', '-eB', 'web']), expected);
    assert.deepEqual(await given(['web', '-qnx', '-eA=1', '-e', 'B']), expected);
    assert.deepEqual(await given(['--name=', '-', '--', '--quick']), { name: '', operands: ['-', '--quick'] });
  });

  test('that are toggles can be turned on or off; the last one wins', async () => {
    assert.deepEqual(await given(['--colour']), { colour: true, operands: [] });
    assert.deepEqual(await given(['-c', '--no-colour', '--colour', '-c']), { colour: true, operands: [] });
    const none: Word[] = readWords(manual, ['--no-colour']);
    assert.deepEqual(none, [{ kind: 'option', name: 'colour', text: 'false' }]);
  });

  test('take times, sizes, numbers and choices as values', async () => {
    for (const [text, wait] of [
      ['1500ms', 1_500],
      ['2', 2_000],
      ['0.5s', 500],
      ['3m', 180_000],
      ['1h', 3_600_000],
      ['1d', 86_400_000],
      ['0', 0],
    ] as const) {
      assert.deepEqual(await given(['--wait', text]), { wait, operands: [] });
    }
    for (const [text, most] of [
      ['10', 10],
      ['2KiB', 2_048],
      ['1MiB', 1_048_576],
      ['1GiB', 1_073_741_824],
    ] as const) {
      assert.deepEqual(await given([`--most=${text}`]), { most, operands: [] });
    }
    assert.deepEqual(await given(['--lines', '20', '--stream', 'stderr']), { lines: 20, stream: 'stderr', operands: [] });
  });

  test('of another command stay with that command', async () => {
    assert.deepEqual(await given(['-q', 'ls', '-l', '--quick', '--', 'x'], 'command'), {
      quick: true,
      operands: ['ls', '-l', '--quick', '--', 'x'],
    });
    assert.deepEqual(await given(['--', '-q', '--help'], 'command'), { operands: ['-q', '--help'] });
  });

  test('that are invalid are refused in one line', async () => {
    const cases: readonly [readonly string[], RegExp][] = [
      [['--quik'], /^unknown option "--quik"; did you mean --quick\?$/],
      [['--no-name'], /^unknown option "--no-name"/],
      [['--constructor'], /^unknown option "--constructor"; "sluice try --help" lists all options$/],
      [['-x'], /^unknown option "-x"/],
      [['-qx'], /^unknown option "-x"/],
      [['--name'], /^--name needs a value, as in --name NAME$/],
      [['-n', '--quick'], /^-n needs a value, as in -n NAME$/],
      [['--quick=yes'], /^--quick takes no value, got "yes"$/],
      [['--no-colour=x'], /^--no-colour takes no value, got "x"; use --colour or --no-colour$/],
      [['--wait', 'soon'], /^--wait must be a time such as 500ms, 30s, 5m or 1h, at most 24 days, got "soon"$/],
      [['--wait', '25d'], /^--wait must be a time/],
      [['--most', '1KB'], /^--most must be a number of bytes, or one with KiB, MiB or GiB, got "1KB"$/],
      [['--lines=-1'], /^--lines must be a whole number, got "-1"$/],
      [['--stream', 'stdin'], /^--stream must be one of stdout, stderr, got "stdin"$/],
    ];
    for (const [args, problem] of cases) {
      await assert.rejects(given(args), (error) => error instanceof UsageError && problem.test(error.message), args.join(' '));
    }
  });
});

describe('the help', () => {
  test('of every command begins with usage and examples, and fits a terminal of 100 columns', async () => {
    for (const entry of commands) {
      const { manual: each } = await entry.load();
      assert.equal(each.name, entry.name);
      const text = commandHelp(each);
      assert.match(text, new RegExp(`^Usage: sluice ${entry.name}\\b`));
      assert.ok(each.examples.length > 0 && each.examples.every(({ line }) => text.includes(line)), entry.name);
      const firstOption = text.search(/^ {2}-/m);
      assert.ok(firstOption < 0 || text.indexOf(each.examples[0]?.line ?? '') < firstOption, entry.name);
      for (const line of text.split('\n')) assert.ok(line.length <= 100, line);
    }
  });

  test('of all lists each command once', () => {
    const text = overview(commands);
    for (const { name, summary } of commands) assert.equal(text.split(`  ${summary}\n`).length, 2, name);
  });
});

describe('detach keys', () => {
  test('are found wherever the input is cut, and everything before them is passed on', () => {
    const typed = fc.uint8Array({ maxLength: 20 }).filter((bytes) => !Buffer.from(bytes).includes(Buffer.from([1, 1, 2])));
    fc.assert(
      fc.property(typed, fc.nat(25), (before, cut) => {
        const keys = new DetachKeys('ctrl-a,ctrl-a,ctrl-b');
        const whole = Buffer.concat([before, Buffer.from([1, 1, 2, 9])]);
        const [one, other] = [keys.push(whole.subarray(0, cut)), keys.push(whole.subarray(cut))];
        const passed = Buffer.concat([one.bytes, one.isDetached ? Buffer.alloc(0) : other.bytes]);
        // A match may begin earlier, with keys that the input itself ends with.
        const found = whole.indexOf(Buffer.from([1, 1, 2]));
        return (one.isDetached || other.isDetached) && passed.equals(whole.subarray(0, found));
      }),
    );
  });

  test('are passed on as soon as the match fails', () => {
    const keys = new DetachKeys('ctrl-p,ctrl-q');
    assert.deepEqual(keys.push(Buffer.from('a\u0010')), { bytes: Uint8Array.from(Buffer.from('a')), isDetached: false });
    assert.deepEqual(keys.push(Buffer.from('b')), { bytes: Uint8Array.from(Buffer.from('\u0010b')), isDetached: false });
  });

  test('can be turned off', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    assert.deepEqual(new DetachKeys('').push(all), { bytes: all, isDetached: false });
  });
});

test('keys have names', () => {
  assert.deepEqual(['enter', 'TAB', 'ctrl-c', 'ctrl-@', 'ctrl-[', 'alt-x', 'alt-enter', 'x', 'ü', '😀', 'f5'].map(parseKey), [
    '\r',
    '\t',
    '\u0003',
    '\u0000',
    '\u001b',
    '\u001bx',
    '\u001b\r',
    'x',
    'ü',
    '😀',
    '\u001b[15~',
  ]);
  for (const name of keyNames) assert.ok(parseKey(name).length > 0);
  for (const wrong of ['', 'return', 'ctrl-', 'ctrl-enter', 'hyper-x']) assert.throws(() => parseKey(wrong), UsageError);
});

test('a command line in one string is split as a shell would split it', () => {
  assert.deepEqual(splitShellWords(`ssh  -o "Proxy Command=nc \\"x\\" y" host\\ 1 'a "b" c'd ""`), [
    'ssh',
    '-o',
    'Proxy Command=nc "x" y',
    'host 1',
    'a "b" cd',
    '',
  ]);
  assert.deepEqual(splitShellWords('  '), []);
  assert.throws(() => splitShellWords(`ssh 'host`), /unclosed quote in: 'host/);
});

describe('plain text', () => {
  const plain = (...pieces: string[]): string => {
    const text = new PlainText();
    return Buffer.concat([...pieces.map((piece) => text.push(Buffer.from(piece))), text.end()]).toString();
  };

  test('has no escape sequences, titles or bells, and plain line ends', () => {
    assert.equal(
      plain('\u001b[1;31mred\u001b[0m ü\r\n\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b\u001b(B\u0007c\r\r\nd\te\r'),
      'red ü\nabc\nd\te\r',
    );
    assert.equal(plain('10%\r20%\r\n'), '10%\r20%\n');
    assert.equal(plain('\u001bP1$r0m\u001b\\x\u001b7y\u001b[?25hz'), 'xyz');
  });

  test('is the same wherever the output is cut', () => {
    const whole = 'a\u001b[31mré\u001b[0m\r\n\u001b]0;title\u001b\\b\u001b(Bc\r';
    const bytes = Buffer.from(whole);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const text = new PlainText();
      const parts = [text.push(bytes.subarray(0, cut)), text.push(bytes.subarray(cut)), text.end()];
      assert.equal(Buffer.concat(parts).toString(), 'aré\nbc\r');
    }
  });
});
