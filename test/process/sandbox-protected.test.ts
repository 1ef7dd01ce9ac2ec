// Folders that other programs trust stay unchanged even inside a folder that a command may write: their files are run or relied on
// outside the sandbox.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type SandboxPolicy, isExecError } from '#src/protocol/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { env, noSandbox, outcome, prepared, scratchFolders, shell, workspaceOnly } from '../support/sandboxed.js';

guardAgainstLeaks();

const folders = scratchFolders();
const names = ['.git', '.agents', '.codex', '.aws'];

const inWorkspace = (script: string, policy: SandboxPolicy = workspaceOnly) =>
  outcome({ ...shell(`exec 2>/dev/null; ${script}`), cwd: folders.workspace }, policy);

const attack = (path: string) =>
  `echo x > ${path}/new; echo x > ${path}/kept; rm -rf ${path}/kept; mv ${path} moved; rm -rf ${path}; ln -s nowhere ${path}; chmod 777 ${path}`;

describe('in a writable folder', { skip: noSandbox }, () => {
  test('.git, .agents, .codex and .aws stay read-only, and everything next to them is writable', async () => {
    const root = join(folders.root, 'root');
    for (const folder of [folders.workspace, root]) {
      for (const name of names) {
        mkdirSync(join(folder, name), { recursive: true });
        writeFileSync(join(folder, name, 'kept'), 'as it was');
      }
    }
    const paths = [...names, ...names.map((name) => join(root, name))];
    const policy = { ...workspaceOnly, writableRoots: [root] };
    assert.equal(
      await inWorkspace(`${paths.map(attack).join('; ')}; echo x > beside && cat .git/kept`, policy),
      'exit 0: as it was',
    );
    for (const path of paths) {
      const folder = join(realpathSync(folders.workspace), path.startsWith('/') ? `../root/${path.split('/').at(-1)}` : path);
      assert.deepEqual([path, readdirSync(folder), readFileSync(join(folder, 'kept'), 'utf8')], [path, ['kept'], 'as it was']);
    }
    assert.equal(readFileSync(join(folders.workspace, 'beside'), 'utf8'), 'x\n');
  });

  test('one of them is writable when it is a writable root, and only a folder below it when that is the root', async () => {
    mkdirSync(join(folders.workspace, '.git', 'hooks'), { recursive: true });
    const named = (root: string) => ({ ...workspaceOnly, writableRoots: [join(folders.workspace, root)] });
    const script = 'echo x > .git/file && echo top; echo x > .git/hooks/file && echo below; true';
    assert.equal(await inWorkspace(script, named('.git')), 'exit 0: top\nbelow');
    assert.equal(await inWorkspace(script, named('.git/hooks')), 'exit 0: below');
    assert.equal(await inWorkspace(script), 'exit 0: ');
  });

  test('a .git file stays unchanged, and so do the folders it points to', async () => {
    const main = join(folders.workspace, 'a', 'main');
    const tree = join(folders.workspace, 'tree');
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
        env: { ...env, HOME: '/nonexistent' },
        stdio: 'pipe',
      });
    git('init', '-q', main);
    git('-C', main, 'commit', '-q', '--allow-empty', '-m', 'one');
    git('-C', main, 'worktree', 'add', '-q', tree);
    const policy = { ...workspaceOnly, writableRoots: [folders.workspace] };
    const before = readFileSync(join(tree, '.git'), 'utf8');
    const script = `exec 2>/dev/null
      echo x > .git; rm -f .git; mv .git moved; mv ../a ../b; mv ../a/main ../other
      for folder in hooks worktrees/tree .; do echo x > ../a/main/.git/$folder/evil; done
      git -c core.fsmonitor=false log --format=%s`;
    assert.equal(await outcome({ ...shell(script), cwd: tree, env: { ...env, HOME: '/nonexistent' } }, policy), 'exit 0: one');
    assert.equal(readFileSync(join(tree, '.git'), 'utf8'), before);
    for (const folder of ['hooks', 'worktrees/tree', '.']) {
      assert.equal(readdirSync(join(main, '.git', folder)).includes('evil'), false, folder);
    }
  });

  test('a .git file that points nowhere, or is not git’s, causes no failure', async () => {
    for (const text of ['', 'gitdir: ', 'gitdir: none', 'gitdir: /none/at/all', 'text', 'gitdir: ../outside']) {
      writeFileSync(join(folders.workspace, '.git'), text);
      assert.equal(await inWorkspace('echo x > .git; echo x > file; cat .git'), `exit 0: ${text.trimEnd()}`);
    }
  });

  test('a link in place of one of them is refused, because the command could replace it', async () => {
    symlinkSync(folders.outside, join(folders.workspace, '.codex'));
    await assert.rejects(
      prepared({ ...shell('true'), cwd: folders.workspace }, workspaceOnly),
      (error) => isExecError(error, 'invalidParams') && error.data.problem.includes('.codex" is a link'),
    );
    assert.equal(await outcome({ ...shell('true'), cwd: folders.workspace }, { type: 'readOnly' }), 'exit 0: ');
  });

  test('such a link in a folder for temporary files makes that folder read-only instead', async () => {
    symlinkSync(folders.root, join(folders.outside, '.aws'));
    const command = {
      ...shell('(echo x > "$1/file") 2>/dev/null && echo written; true', folders.outside),
      cwd: folders.workspace,
      serverEnv: { TMPDIR: folders.outside },
    };
    assert.equal(await outcome(command, { type: 'workspaceWrite', excludeSlashTmp: true }), 'exit 0: ');
  });
});
