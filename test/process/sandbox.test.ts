// Real commands try to break out of the sandbox. When run by root, they try with all of root's privileges.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { type SandboxPolicy, isExecError } from '#src/protocol/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import {
  env,
  fullAccess,
  noSandbox,
  outcome,
  prepared,
  readOnly,
  scratchFolders,
  shell,
  workspaceOnly,
} from '../support/sandboxed.js';

guardAgainstLeaks();

const folders = scratchFolders();
/** A file outside the workspace, and the path of one that does not exist. */
let kept = '';
let target = '';

beforeEach(() => {
  kept = join(folders.outside, 'kept');
  target = join(folders.outside, 'target');
  writeFileSync(kept, 'as it was');
});

const write = 'echo x > "$1"';

describe('files', { skip: noSandbox }, () => {
  test('outside the roots cannot be written, but without the sandbox they can', async () => {
    assert.match(
      await outcome({ ...shell(write, target), cwd: folders.workspace }, workspaceOnly),
      /^exit [12]: .*Read-only file system/,
    );
    assert.equal(existsSync(target), false);
    assert.equal(await outcome({ ...shell(write, target), cwd: folders.workspace }, fullAccess), 'exit 0: ');
    assert.equal(existsSync(target), true);
  });

  test('can be written in the working folder, in every root and below', async () => {
    const root = join(folders.root, 'root');
    mkdirSync(join(root, 'below'), { recursive: true });
    const script =
      'for folder in . "$1" "$1/below"; do echo x > "$folder/file" && mv "$folder/file" "$folder/moved"; done; mv "$1/moved" "$1/below"';
    const policy = { ...workspaceOnly, writableRoots: [root, join(root, 'below')] };
    assert.equal(await outcome({ ...shell(script, root), cwd: folders.workspace }, policy), 'exit 0: ');
    assert.deepEqual(
      [readdirSync(folders.workspace), readdirSync(root), readdirSync(join(root, 'below'))],
      [['moved'], ['below'], ['moved']],
    );
  });

  test('can be written in a root that is a link, under both of its names', async () => {
    const link = join(folders.root, 'link');
    symlinkSync(folders.outside, link);
    const script = 'echo x > "$1/one" && echo x > "$2/other"';
    const policy = { ...workspaceOnly, writableRoots: [link] };
    assert.equal(await outcome({ ...shell(script, link, folders.outside), cwd: folders.workspace }, policy), 'exit 0: ');
    assert.deepEqual(readdirSync(folders.outside), ['kept', 'one', 'other']);
  });

  test('can be read everywhere', async () => {
    assert.equal(await outcome({ ...shell('cat "$1"', kept), cwd: folders.workspace }, readOnly), 'exit 0: as it was');
  });

  test('cannot be written anywhere under readOnly, not even in /tmp, the working folder, /dev, /run and /proc', async () => {
    const script =
      'for folder in . /tmp "$TMPDIR" /dev /run /proc/self /; do (echo x > "$folder/comm") 2>/dev/null && echo "$folder"; done; true';
    const command = { ...shell(script), cwd: folders.workspace, env: { ...env, TMPDIR: folders.outside } };
    assert.equal(await outcome(command, readOnly), 'exit 0: ');
    assert.deepEqual([readdirSync(folders.workspace), readdirSync(folders.outside)], [[], ['kept']]);
  });

  test('being read-only does not affect devices and shared memory', async () => {
    const script =
      'echo x > /dev/null && head -c 4 /dev/zero | wc -c && echo x > /dev/shm/mine && cat /dev/shm/mine && echo out > /dev/stdout';
    assert.equal(await outcome(shell(script), readOnly), 'exit 0: 4\nx\nout');
  });

  test('in /tmp and TMPDIR can be written unless they are excluded', async () => {
    const inTmp = mkdtempSync('/tmp/sluice-sandbox-');
    const [own, other] = [join(folders.root, 'own'), join(inTmp, 'file')];
    mkdirSync(own);
    const command = {
      ...shell('(echo x > "$1") 2>/dev/null && echo tmp; (echo x > "$TMPDIR/file") 2>/dev/null && echo own; true', other),
      env: { ...env, TMPDIR: own },
      serverEnv: { TMPDIR: own },
      cwd: folders.workspace,
    };
    const policies: SandboxPolicy[] = [
      { type: 'workspaceWrite' },
      { type: 'workspaceWrite', excludeTmpdirEnvVar: true },
      { type: 'workspaceWrite', excludeSlashTmp: true },
      { type: 'workspaceWrite', excludeSlashTmp: true, excludeTmpdirEnvVar: true },
    ];
    const written = [];
    for (const policy of policies) written.push(await outcome(command, policy));
    rmSync(inTmp, { recursive: true });
    // The folder of this test may be in /tmp itself.
    const alsoInTmp = own.startsWith('/tmp/') ? 'exit 0: tmp\nown' : 'exit 0: tmp';
    assert.deepEqual(written, ['exit 0: tmp\nown', alsoInTmp, 'exit 0: own', 'exit 0: ']);
  });

  test('in a TMPDIR that does not exist, is relative or cannot be used cause no failure', async () => {
    for (const TMPDIR of [join(folders.root, 'none'), 'relative', '', '/proc/self']) {
      assert.equal(
        await outcome({ ...shell('true'), cwd: folders.workspace, serverEnv: { TMPDIR } }, { type: 'workspaceWrite' }),
        'exit 0: ',
      );
    }
  });

  test('in a TMPDIR that only the command has stay read-only', async () => {
    for (const TMPDIR of [folders.outside, '/']) {
      const command = {
        ...shell(write, target),
        cwd: folders.workspace,
        env: { ...env, TMPDIR },
        serverEnv: { TMPDIR: folders.workspace },
      };
      assert.match(await outcome(command, { type: 'workspaceWrite', excludeSlashTmp: true }), /Read-only file system/);
    }
    assert.equal(existsSync(target), false);
  });

  test('with kernel settings stay read-only for a command whose root is /', async () => {
    // Not cat from and to the same file, which cat itself refuses.
    const rewrite = 'value=$(cat "$file"); (printf %s "$value" > "$file") 2>/dev/null && echo "$file"';
    const files = '/proc/sys/kernel/core_pattern /sys/kernel/mm/ksm/run';
    const script = `echo x > "$1" || exit 9; for file in ${files}; do ${rewrite}; done; true`;
    assert.equal(await outcome({ ...shell(script, target), cwd: '/' }, workspaceOnly), 'exit 0: ');
    assert.equal(existsSync(target), true);
  });
});

/** Each tries to write $1, to change $2 next to it, or to gain what would make that possible, and then prints "escaped". */
const escapes: Readonly<Record<string, string>> = {
  'a path with ..': 'echo x > ../outside/target; echo x > ../outside/kept',
  'a link in the workspace': 'ln -s ../outside link; echo x > link/target; echo x > link/kept',
  'a hard link into the workspace': 'ln "$2" hard && echo x > hard',
  'moving and removing': 'mv "$2" . ; rm -f "$2"; mv ../outside ../elsewhere; rm -rf ../outside',
  '/proc/self/root': 'echo x > "/proc/self/root$1"; echo x > "/proc/thread-self/root$1"',
  'the root folders of processes': 'for root in /proc/[0-9]*/root /proc/[0-9]*/cwd; do echo x > "$root$1"; done',
  'a process outside': `kill -0 ${process.pid} && echo escaped; ls /proc/${process.pid} && echo escaped`,
  remounting: 'mount -o remount,rw / && echo escaped; mount -o remount,bind,rw / && echo escaped; echo x > "$1"',
  mounting: 'mkdir mnt; mount --bind ../outside mnt && echo escaped; mount -t tmpfs none mnt && echo escaped',
  unmounting: 'umount -l . && echo escaped; umount -l /proc && echo escaped; umount -l / && echo escaped',
  'new namespaces': `unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > "$1"' sh "$1"; unshare -m true && echo escaped`,
  'the namespaces of other processes': 'for ns in -m -p -n -U; do nsenter -t 1 $ns true && echo escaped; done',
  'a device': 'mknod disk b 254 0; mknod memory c 1 1; test -e disk && echo escaped; test -e memory && echo escaped',
  'another root folder': 'mkdir jail; chroot jail true; chroot / true && echo escaped; chroot /proc/1/root true && echo escaped',
  'a kernel setting': 'cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo escaped',
  capabilities: 'grep "^Cap[^B].*:.*[1-9a-f]" /proc/self/status && echo escaped',
  'a setuid program': 'grep -q "NoNewPrivs:.*1" /proc/self/status || echo escaped',
};

describe('there is no way out through', { skip: noSandbox }, () => {
  for (const [way, script] of Object.entries(escapes)) {
    test(way, async () => {
      const command = { ...shell(`exec 2>/dev/null; ${script}`, target, kept), cwd: folders.workspace };
      assert.doesNotMatch(await outcome(command, workspaceOnly), /escaped/);
      assert.deepEqual([readdirSync(folders.outside), readFileSync(kept, 'utf8')], [['kept'], 'as it was']);
    });
  }
});

describe('a policy is refused', { skip: noSandbox }, () => {
  async function problem(policy: SandboxPolicy, command: { cwd?: string; hidden?: readonly string[] } = {}): Promise<string> {
    try {
      await prepared({ ...shell('true'), cwd: folders.workspace, ...command }, policy);
    } catch (error) {
      if (isExecError(error, 'invalidParams')) return error.data.problem.replaceAll(folders.root, '~');
      throw error;
    }
    return 'none';
  }
  const withRoot = (root: string): SandboxPolicy => ({ ...workspaceOnly, writableRoots: [root] });

  test('when a root is not absolute, does not exist, or is not a folder', async () => {
    assert.deepEqual(
      [await problem(withRoot('src')), await problem(withRoot(target)), await problem(withRoot(kept))],
      [
        'writable roots must be absolute paths, got "src"',
        'writable root "~/outside/target" does not exist or cannot be reached',
        'writable root "~/outside/kept" is not a folder',
      ],
    );
  });

  test('when a root or the working folder belongs to the sandbox itself', async () => {
    assert.deepEqual(
      [await problem(withRoot('/proc/sys')), await problem(withRoot('/dev')), await problem(readOnly, { cwd: '/sys' })],
      ['/proc/sys', '/dev', '/sys'].map(
        (path) => `"${path}" cannot be used in a sandbox: /${path.split('/')[1]} is not available in a sandbox`,
      ),
    );
  });

  test('when a root or the working folder is hidden', async () => {
    assert.deepEqual(
      [
        await problem(withRoot('/run')),
        await problem(withRoot(folders.outside), { hidden: [folders.outside] }),
        await problem(readOnly, { hidden: [folders.root] }),
      ],
      [
        '"/run" cannot be used in a sandbox: "/run" is hidden',
        '"~/outside" cannot be used in a sandbox: "~/outside" is hidden',
        '"~/workspace" cannot be used in a sandbox: "~" is hidden',
      ],
    );
  });

  test('when a root or the working folder is behind a link that an earlier command could have created', async () => {
    const made = { ...shell('ln -s ../outside link && mkdir real && ln -s real inner'), cwd: folders.workspace };
    assert.equal(await outcome(made, workspaceOnly), 'exit 0: ');
    const link = join(folders.workspace, 'link');
    const roots = { ...workspaceOnly, writableRoots: [folders.workspace] };
    const refused =
      '"~/workspace/link" cannot be used in a sandbox: a link in "~/workspace" leads to "~/outside"; use that path instead';
    assert.deepEqual(
      [
        await problem(roots, { cwd: link }),
        await problem(withRoot(link)),
        await problem(roots, { cwd: join(folders.workspace, 'inner') }),
        await problem(readOnly, { cwd: link }),
      ],
      [refused, refused, 'none', 'none'],
    );
  });
});
