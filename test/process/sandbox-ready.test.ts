// Whether a sandbox is possible, and what is reported where it is not. The trials run a script in place of bubblewrap.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { Sandbox, prepareSandboxed } from '#src/process/index.js';
import { findProgram } from '#src/process/start/spawn-failure.js';
import { isExecError } from '#src/protocol/index.js';
import { withFs } from '../support/changed-fs.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { env, fullAccess, putProgram, readOnly, scratchFolders } from '../support/sandboxed.js';

guardAgainstLeaks();

const folders = scratchFolders();
const noLinux = process.platform === 'linux' ? false : 'bubblewrap is for Linux';

describe('the trial of the sandbox', { skip: noLinux }, () => {
  let tools = '';
  beforeEach(() => {
    tools = join(folders.root, 'tools');
    mkdirSync(tools);
    symlinkSync(findProgram('env', '/', env['PATH']), join(tools, 'env'));
  });
  const sandboxIn = (path: string, clock = new FakeClock()) => new Sandbox({ env: { PATH: path }, hidden: [], clock });

  test('reports what to install where bubblewrap is missing', async () => {
    assert.match((await sandboxIn(tools).ready()) ?? '', /^bubblewrap is not in PATH: apt install bubblewrap/);
  });

  test('reports the error message and what to change where bubblewrap fails', async () => {
    putProgram(join(tools, 'bwrap'), '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2; exit 1');
    assert.match(
      (await sandboxIn(tools).ready()) ?? '',
      /^bubblewrap does not work here \(bwrap: No permissions to create new namespace\): .*(sysctl|namespaces)/,
    );
  });

  test('reports the kernel setting that keeps bubblewrap from working', async () => {
    putProgram(join(tools, 'bwrap'), '#!/bin/sh\nexit 1');
    const [user, clone, appArmor] = [
      'user/max_user_namespaces',
      'kernel/unprivileged_userns_clone',
      'kernel/apparmor_restrict_unprivileged_userns',
    ];
    const machines: readonly [Readonly<Record<string, string>>, RegExp][] = [
      [{ [user]: '0', [clone]: '0', [appArmor]: '1' }, /: as root: sysctl user\.max_user_namespaces=15000$/],
      [{ [user]: '9', [clone]: '0', [appArmor]: '1' }, /: as root: sysctl kernel\.unprivileged_userns_clone=1$/],
      [
        { [user]: '9', [clone]: '1', [appArmor]: '1' },
        /: give bwrap an AppArmor profile .*apparmor_restrict_unprivileged_userns=0$/,
      ],
      [{ [user]: '9', [clone]: '1', [appArmor]: '0' }, /: allow it to create namespaces /],
      [{}, /: allow it to create namespaces /],
    ];
    for (const [settings, remedy] of machines) {
      assert.match((await withSettings(settings, async () => sandboxIn(tools).ready())) ?? '', remedy);
    }
  });

  test('reports an env that cannot block signals', async () => {
    rmSync(join(tools, 'env'));
    putProgram(join(tools, 'env'), '#!/bin/sh\necho "unrecognized option" >&2; exit 125');
    putProgram(join(tools, 'bwrap'), '#!/bin/sh\nexit 0');
    assert.match((await sandboxIn(tools).ready()) ?? '', /install GNU coreutils/);
  });

  test('runs once, and again a minute after a failure', async () => {
    const clock = new FakeClock();
    const sandbox = sandboxIn(tools, clock);
    const count = join(folders.root, 'count');
    assert.match((await sandbox.ready()) ?? '', /not in PATH/);
    putProgram(join(tools, 'bwrap'), `#!/bin/sh\necho tried >> ${count}`);
    await clock.advance(59_999);
    assert.match((await sandbox.ready()) ?? '', /not in PATH/);
    await clock.advance(1);
    assert.deepEqual(await Promise.all([sandbox.ready(), sandbox.ready()]), [undefined, undefined]);
    await clock.advance(60_000);
    assert.equal(await sandbox.ready(), undefined);
    assert.equal(readFileSync(count, 'utf8'), 'tried\n');
  });

  test('must succeed before a command can be enclosed', async () => {
    const spec = {
      program: { kind: 'lookup' },
      argv: ['true'],
      cwd: '/',
      env,
      io: { kind: 'pipe', stdin: 'closed' },
      arg0: undefined,
    } as const;
    const sandbox = sandboxIn(tools);
    assert.throws(
      () => sandbox.wrap(spec, readOnly),
      (error) => isExecError(error, 'sandboxUnavailable'),
    );
    assert.equal(sandbox.wrap(spec, fullAccess), spec);
    await assert.rejects(prepareSandboxed(spec, readOnly, sandbox), /^Error: bubblewrap is not in PATH/);
    const { program, argv } = await prepareSandboxed(spec, fullAccess, sandbox);
    assert.deepEqual([program, argv], [findProgram('true', '/', env['PATH']), ['true']]);
  });
});

/** Runs `work` as if the kernel had these settings and no others. */
function withSettings<T>(settings: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const original = readFileSync; // the import changes too
  const read = (path: string, encoding: BufferEncoding) => {
    const [, name] = /^\/proc\/sys\/(.*)$/.exec(path) ?? [];
    return name === undefined ? original(path, encoding) : `${settings[name] ?? assert.fail(`there is no ${name}`)}\n`;
  };
  return withFs({ readFileSync: read as typeof original }, work);
}
