// Options that Node has too reach us, however the program is started: Node takes some of them anywhere on its command line.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Background } from '../support/cli.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { program } from '../support/sluice-server.js';

/** The shell script and the first line both look for Node in PATH. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` };

const starts: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'by its shell script': [program],
  'as our own launches start it': [process.execPath, '--', program],
};

for (const [how, [command, ...first]] of Object.entries(starts)) {
  describe(`the program, started ${how}`, () => {
    let folder = '';
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'sluice-'));
      writeFileSync(join(folder, 'variables'), 'OURS=read\n');
    });
    after(() => rmSync(folder, { recursive: true }));
    guardAgainstLeaks();

    function run(args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
      const { status, stdout, stderr } = spawnSync(command, [...first, ...args], { encoding: 'utf8', env, cwd: folder });
      return { status, stdout, stderr };
    }

    test('reads the file that --env-file names, and reports a missing one itself', () => {
      const show = ['--', 'printenv', 'OURS'];
      const read = { status: 0, stdout: 'read\n', stderr: '' };
      assert.deepEqual(run(['exec', '--env-file', 'variables', ...show]), read);
      assert.deepEqual(run(['exec', '--env-file=variables', ...show]), read);
      for (const flags of [['--env-file', '/nope'], ['--env-file=/nope']]) {
        const { status, stdout, stderr } = run(['exec', ...flags, ...show]);
        assert.deepEqual([status, stdout], [125, '']);
        assert.match(stderr, /^sluice: .*'\/nope'\n$/);
      }
    });

    test('takes -e as its own option, and itself refuses options that only Node has', () => {
      assert.deepEqual(run(['exec', '-e', 'OURS=set', '--', 'printenv', 'OURS']), { status: 0, stdout: 'set\n', stderr: '' });
      for (const flag of [
        '--watch',
        '--inspect',
        '--test',
        '--eval',
        '--import',
        '--print',
        '-r',
        '-p',
        '--env-file-if-exists=x',
      ]) {
        const { status, stdout, stderr } = run(['exec', flag, '--', 'true']);
        assert.deepEqual([status, stdout], [125, ''], flag);
        assert.match(stderr, /^sluice: unknown option "--?[a-z-]+".*\n$/, flag);
      }
    });

    test('leaves the arguments of a command alone', () => {
      const words = ['--env-file', '/nope', '--watch', '-r', 'x'];
      assert.deepEqual(run(['exec', '--', 'echo', ...words]), { status: 0, stdout: `${words.join(' ')}\n`, stderr: '' });
    });

    test('passes them on to the background server', async () => {
      await using background = new Background();
      const variables = { ...env, ...background.env };
      const args = [...first, 'exec', '-d', '--name', 'shown', '--env-file', 'variables', '--', 'sh', '-c', 'echo $OURS'];
      const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env: variables, cwd: folder });
      assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: 'shown\n', stderr: '' });
      await background.good(['wait', 'shown']);
      assert.equal(await background.good(['logs', 'shown']), 'read\n');
    });
  });
}
