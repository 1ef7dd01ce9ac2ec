// `sluice files` as a user runs it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { type RunOptions, ended, sluice, startSluice } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch } from '../support/scratch.js';
import { SluiceServer } from '../support/sluice-server.js';

guardAgainstLeaks();

describe('sluice files', () => {
  let server: SluiceServer;
  before(async () => {
    server = await SluiceServer.start('unix');
  });
  after(async () => server[Symbol.asyncDispose]());

  function run(args: readonly string[], options: RunOptions = {}) {
    return sluice(['files', ...args, '--connect', server.url], options);
  }

  /** Runs it, and fails unless it succeeds with an empty stderr. */
  async function good(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await run(args, options);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' }, args.join(' '));
    return stdout;
  }

  test('ls lists names, a table, or JSON, with control characters escaped', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('b\u001b[31m'), Buffer.alloc(2_048));
    chmodSync(scratch.at('b\u001b[31m'), 0o4755);
    mkdirSync(scratch.at('a'), { mode: 0o1777 });
    chmodSync(scratch.at('a'), 0o1777);
    symlinkSync('nowhere', scratch.at('c'));
    assert.equal(await good(['ls', scratch.path]), 'a\nb\\x1b[31m\nc\n');
    const lines = (await good(['ls', '-l', scratch.path])).split('\n');
    assert.match(lines[0] ?? '', /^drwxrwxrwt +\S+ {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}a$/);
    assert.match(lines[1] ?? '', /^-rwsr-xr-x {2}2\.0KiB {2}\S+ \S+ {2}b\\x1b\[31m$/);
    assert.match(lines[2] ?? '', /^lrwxrwxrwx .* c -> nowhere$/);
    const entries = JSON.parse(await good(['ls', '--json', scratch.path])) as { readonly name: string; readonly kind: string }[];
    assert.deepEqual(
      entries.map(({ name, kind }) => [name, kind]),
      [
        ['a', 'directory'],
        ['b\u001b[31m', 'file'],
        ['c', 'symlink'],
      ],
    );
    assert.equal(await good(['ls', scratch.at('b\u001b[31m')]), 'b\\x1b[31m\n');
    const { status, stderr } = await run(['ls', scratch.at('absent')]);
    assert.deepEqual([status, /^sluice: .*absent/.test(stderr)], [125, true]);
  });

  test('cat prints files, and rm removes them', async () => {
    using scratch = new Scratch();
    writeFileSync(scratch.at('one'), 'first\n');
    writeFileSync(scratch.at('two'), 'second\n');
    mkdirSync(scratch.at('folder'));
    writeFileSync(scratch.at('folder', 'file'), '');
    assert.equal(await good(['cat', scratch.at('one'), `:${scratch.at('two')}`]), 'first\nsecond\n');
    await good(['rm', scratch.at('one'), scratch.at('two')]);
    assert.equal((await run(['rm', scratch.at('one')])).status, 125);
    await good(['rm', '-f', scratch.at('one')]);
    assert.equal((await run(['rm', scratch.at('folder')])).status, 125);
    await good(['rm', '-r', scratch.at('folder')]);
    assert.deepEqual(readdirSync(scratch.path), []);
    for (const action of ['cat', 'rm', 'edit', 'copy', '']) assert.equal((await run([action])).status, 125, action);
  });

  test('watch prints a line for each change until it is interrupted, or what it watches is gone', async () => {
    using scratch = new Scratch();
    mkdirSync(scratch.at('folder'));
    for (const end of ['interrupted', 'gone'] as const) {
      const child = startSluice(['files', 'watch', '--json', '-r', '--connect', server.url, scratch.at('folder')]);
      const lines: unknown[] = [];
      const reader = createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line)));
      // The first change may come before the watch, so it is repeated until one is seen.
      const changing = setInterval(() => writeFileSync(scratch.at('folder', 'file'), String(Math.random())), 20);
      await once(reader, 'line');
      clearInterval(changing);
      assert.deepEqual((lines[0] as { readonly path: string }).path, scratch.at('folder', 'file'));
      if (end === 'interrupted') child.kill('SIGINT');
      else rmSync(scratch.at('folder'), { recursive: true });
      assert.equal(await ended(child), end === 'interrupted' ? 0 : 1);
    }
  });

  /** An editor is a shell script that gets the file as its last argument. */
  function editor(script: string): Readonly<Record<string, string | undefined>> {
    return { VISUAL: undefined, EDITOR: `sh -c '${script}' sh` };
  }

  test('edit writes back what the editor changed, with the file’s permissions', async () => {
    using scratch = new Scratch();
    const file = scratch.at('app.conf');
    writeFileSync(file, 'port=1\n');
    chmodSync(file, 0o640);
    await good(['edit', file], { env: editor('sed -i s/1/2/ "$1"') });
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['port=2\n', 0o640]);
    const writtenAtMs = statSync(file).mtimeMs;
    await good(['edit', file], { env: editor('true') });
    assert.equal(statSync(file).mtimeMs, writtenAtMs, 'written although nothing changed');
    await good(['edit', scratch.at('new')], { env: editor('echo made > "$1"') });
    assert.equal(readFileSync(scratch.at('new'), 'utf8'), 'made\n');
  });

  test('edit refuses to undo a change made meanwhile, and keeps the edited copy', async () => {
    using scratch = new Scratch();
    const file = scratch.at('app.conf');
    writeFileSync(file, 'port=1\n');
    const { status, stderr } = await run(['edit', file], { env: editor(`echo mine > "$1"; echo theirs > ${file}`) });
    assert.equal(status, 125);
    const copy = /your edited copy is (?<copy>\S+)\n$/.exec(stderr)?.groups?.['copy'] ?? assert.fail(stderr);
    assert.deepEqual([readFileSync(copy, 'utf8'), readFileSync(file, 'utf8')], ['mine\n', 'theirs\n']);
    assert.deepEqual([statSync(copy).mode & 0o777, statSync(dirname(copy)).mode & 0o777], [0o600, 0o700]);
    rmSync(dirname(copy), { recursive: true });
    const created = await run(['edit', scratch.at('new')], {
      env: editor(`echo mine > "$1"; echo theirs > ${scratch.at('new')}`),
    });
    const kept = /your edited copy is (?<copy>\S+)\n$/.exec(created.stderr)?.groups?.['copy'] ?? assert.fail(created.stderr);
    assert.equal(readFileSync(scratch.at('new'), 'utf8'), 'theirs\n');
    rmSync(dirname(kept), { recursive: true });
  });

  test('edit writes nothing when the editor fails', async () => {
    using scratch = new Scratch();
    const file = scratch.at('file');
    writeFileSync(file, 'old\n');
    const { status, stderr } = await run(['edit', file], { env: editor('exit 3') });
    assert.deepEqual(
      [status, stderr],
      [125, `sluice: the editor "sh -c 'exit 3' sh" ended with status 3; nothing was written\n`],
    );
    assert.equal(readFileSync(file, 'utf8'), 'old\n');
    assert.ok(!existsSync(scratch.at('new')));
  });
});
