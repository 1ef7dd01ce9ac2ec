// The man page has the required content, and mandoc and man render it without complaints.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { placeholderOf } from '#src/cli/command.js';
import { commands } from '#src/cli/commands.js';
import { runtimeFolder } from '#src/cli/serve/runtime-folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Why a program cannot show the page on this machine, or false when it can. On some systems `man` is a stub that only prints a notice. */
function missing(program: string, pattern: RegExp): string | false {
  const { stdout, stderr, error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return error === undefined && pattern.test(`${stdout}${stderr}`) ? false : `${program} is not installed`;
}

describe('the man page', () => {
  let page = '';
  let lines: string[] = [];

  before(() => {
    const made = spawnSync(process.execPath, ['scripts/docs/generate-docs.mjs', '--print', 'man'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(made.stderr, '');
    page = made.stdout;
    lines = page.split('\n');
  });

  test('has the usual sections in their usual order', () => {
    const sections = lines.filter((line) => line.startsWith('.SH ')).map((line) => line.slice(4));
    assert.deepEqual(sections, [
      'NAME',
      'SYNOPSIS',
      'DESCRIPTION',
      'EXAMPLES',
      'COMMANDS',
      'SERVER OPTIONS',
      'EXIT STATUS',
      'ENVIRONMENT',
      'FILES',
      'SEE ALSO',
    ]);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('.SS ')).toSorted(),
      commands.map(({ name }) => `.SS sluice ${name}`).toSorted(),
    );
  });

  test('has every option of every command, with names that can be copied', async () => {
    for (const { name, load } of commands) {
      for (const [option, row] of Object.entries((await load()).manual.options)) {
        const long = `\\fB\\-\\-${row.kind === 'toggle' ? '[no\\-]' : ''}${option.replaceAll('-', '\\-')}\\fR`;
        const short = row.short === undefined ? '' : `\\fB\\-${row.short}\\fR, `;
        const isPlain = row.kind === 'switch' || row.kind === 'toggle';
        const tag = `${short}${long}${isPlain ? '' : ` \\fI${placeholderOf(row)}\\fR`}`;
        assert.ok(lines.includes(tag), `${name}: ${tag}`);
      }
    }
  });

  test('is ASCII, and no line of text can be taken for a macro', () => {
    assert.match(page, /^[\n\x20-\x7e]*$/);
    const macros = lines.filter((line) => /^[.']/.test(line)).map((line) => line.replace(/ .*/, ''));
    assert.deepEqual([...new Set(macros)].toSorted(), ['.BR', '.PP', '.SH', '.SS', '.TH', '.TP', '.ad', '.br', '.nh']);
    // Every backslash begins one of the escapes that the generator writes.
    assert.doesNotMatch(page, /\\(?!f[BIR]|-|&|\((?:rs|aq|dq|ga|ha|ti)|\[u[0-9A-F]{4,6}\])/);
  });

  test('names the files at their actual paths', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
    try {
      const { socketUrl, logFile } = runtimeFolder({ XDG_RUNTIME_DIR: folder }, 'leave');
      for (const file of [socketUrl.replace('unix://', ''), logFile]) {
        assert.ok(lines.includes(`\\fB${file.replace(folder, '$XDG_RUNTIME_DIR')}\\fR`), file);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  /** Renders the page with a program. */
  function shown(program: string, args: readonly string[]) {
    const env = { ...process.env, MANPAGER: 'cat', MANWIDTH: '80' };
    const { status, stdout, stderr } = spawnSync(program, args, { input: page, encoding: 'utf8', env });
    return { status, stdout, stderr };
  }

  test('passes the lint of mandoc', { skip: missing('mandoc', /mandoc/) }, () => {
    assert.deepEqual(shown('mandoc', ['-T', 'lint', '-W', 'warning']), { status: 0, stdout: '', stderr: '' });
  });

  test('is rendered by man without a warning', { skip: missing('man', /^man \d/) }, () => {
    const { status, stdout, stderr } = shown('man', ['--warnings=w', '-Tutf8', '-l', '-']);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    // man prints a bold character as the character, a backspace and the character.
    const shownLines = stdout.replaceAll(/.[\b]/g, '').split('\n');
    for (const line of ['sluice exec [OPTIONS] [--] COMMAND [ARG...]', '-e, --env K=V']) {
      assert.ok(shownLines.includes(`       ${line}`), line);
    }
  });
});
