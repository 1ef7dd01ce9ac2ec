// Finding programs, and the messages about why one cannot run. Every case also works as root, which has nearly all permissions.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { errnoOf, findProgram, interpreterOf, isText, spawnFailureFrom } from '#src/process/start/spawn-failure.js';
import { type ExecError, isExecError } from '#src/protocol/index.js';

let folder = '';

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-programs-'));
  for (const name of ['bin', 'more', 'bin/sub']) mkdirSync(join(folder, name));
  put('bin/tool', '#!/bin/sh\n', 0o755);
  put('more/tool', '#!/bin/sh\n', 0o755);
  put('more/extra', '#!/bin/sh\n', 0o755);
  put('bin/plain', 'text', 0o644);
  put('more/plain', '#!/bin/sh\n', 0o755);
  put('more/sub', 'text', 0o644);
  put('here', '#!/bin/sh\n', 0o755);
  symlinkSync('loop', join(folder, 'bin/loop'));
  symlinkSync('nowhere', join(folder, 'bin/dangling'));
});

after(() => rmSync(folder, { recursive: true }));

function put(name: string, content: string | Uint8Array, mode: number): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

/** Runs `task` as a user who may not enter every folder, as root may. */
function unprivileged<T>(task: () => T): T {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    return task();
  } finally {
    process.seteuid?.(0);
  }
}

test('a program that is in no folder of PATH is reported as not found, even if one of them may not be entered', () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0 });
  const search = (program: string) => unprivileged(() => findProgram(program, '/', `${closed}:/usr/bin:/bin`));
  assert.match(search('sh'), /\/sh$/);
  const notFound = (error: unknown) => brief(error).startsWith('programNotFound: program "no-such-program" not found');
  assert.throws(() => search('no-such-program'), notFound);
});

/** The failure as 'kind: problem', with the temporary folder as ~. */
function brief(error: unknown): string {
  assert.ok(isExecError(error, 'spawnFailed'));
  return `${error.data.failure}: ${error.data.problem.replaceAll(folder, '~')}`;
}

/** The file found, or the failure, with the temporary folder as ~. */
function find(program: string, path?: string): string {
  try {
    return findProgram(program, folder, path?.replaceAll('~', folder)).replaceAll(folder, '~');
  } catch (error) {
    return brief(error);
  }
}

describe('a bare name', () => {
  test('is found in the first folder of PATH that has it', () => {
    assert.deepEqual([find('tool', '~/bin:~/more'), find('tool', '~/more:~/bin')], ['~/bin/tool', '~/more/tool']);
  });

  test('is found past folders that do not exist or are files', () => {
    assert.equal(find('extra', '~/none:~/here:~/more'), '~/more/extra');
  });

  test('is found past files that are not executable', () => {
    assert.equal(find('plain', '~/bin:~/more'), '~/more/plain');
  });

  test('that no folder has is not found, and the message names PATH', () => {
    assert.equal(find('nothing', '~/bin:~/more'), 'programNotFound: program "nothing" not found in PATH "~/bin:~/more"');
  });

  test('that only matches files that are not executable is reported as such', () => {
    assert.deepEqual(
      ['plain', 'sub', 'loop'].map((name) => find(name, '~/none:~/bin')),
      [
        'notExecutable: "~/bin/plain" is not an executable file',
        'notExecutable: "~/bin/sub" is not an executable file',
        'notExecutable: "~/bin/loop" is not an executable file',
      ],
    );
  });

  test('that matches several files that are not executable is reported with the first', () => {
    assert.equal(find('sub', '~/more:~/bin'), 'notExecutable: "~/more/sub" is not an executable file');
  });

  test('is found in the working folder where PATH has an empty element', () => {
    assert.deepEqual(
      ['', ':~/bin', '~/bin:', '~/bin::~/more'].map((path) => find('here', path)),
      Array(4).fill('~/here'),
    );
  });

  test('is not found in the working folder otherwise', () => {
    assert.equal(find('here', '~/bin'), 'programNotFound: program "here" not found in PATH "~/bin"');
  });

  test('is found in a relative folder of PATH, resolved against the working folder', () => {
    assert.equal(find('tool', 'more'), '~/more/tool');
  });

  test('is found in the default path when there is no PATH', () => {
    assert.match(find('sh'), /^(\/usr)?\/bin\/sh$/);
  });

  test('that is not in the default path either is reported with that path', () => {
    assert.equal(find('tool'), 'programNotFound: program "tool" not found in the default path "/bin:/usr/bin" (env has no PATH)');
  });

  test('longer than a file name can be is not found', () => {
    const name = 'x'.repeat(300);
    assert.equal(find(name, '~/bin'), `programNotFound: program "${name}" not found in PATH "~/bin"`);
  });

  test('that is empty is refused', () => {
    assert.equal(find('', '~/bin'), 'programNotFound: argv[0] is empty; it must name a program');
  });
});

describe('a name with a slash', () => {
  test('is a path relative to the working folder, regardless of PATH', () => {
    assert.deepEqual(
      [find('./here', ''), find('bin/tool', '~/more'), find('bin/../here', '')],
      ['~/here', '~/bin/tool', '~/here'],
    );
  });

  test('that is absolute is used unchanged', () => {
    assert.equal(find(join(folder, 'bin/tool'), ''), '~/bin/tool');
  });

  test('that cannot be executed is refused with the reason', () => {
    assert.deepEqual(
      ['./nothing', 'bin/dangling', 'here/below', './bin', 'bin/plain', 'bin/loop'].map((name) => find(name)),
      [
        'programNotFound: program "~/nothing" does not exist',
        'programNotFound: program "~/bin/dangling" does not exist',
        'programNotFound: program "~/here/below" does not exist',
        'notExecutable: "~/bin" is not an executable file',
        'notExecutable: "~/bin/plain" is not an executable file',
        'notExecutable: "~/bin/loop" is not an executable file',
      ],
    );
  });
});

describe('a spawn that the kernel refused', () => {
  const refused = (errno: string, file = '/bin/sh', cwd = '/') =>
    brief(spawnFailureFrom(errno, file.replace('~', folder), cwd.replace('~', folder)));

  test('is blamed on the working folder when that is the cause', () => {
    assert.deepEqual(
      [refused('ENOENT', '/bin/sh', '~/none'), refused('ENOTDIR', '/bin/sh', '~/here')],
      ['cwdNotFound: cwd "~/none" does not exist', 'cwdNotDirectory: cwd "~/here" is not a folder'],
    );
  });

  test('for a missing file names the program', () => {
    assert.equal(refused('ENOENT', '~/none'), 'programNotFound: program "~/none" does not exist');
  });

  test('for a missing interpreter names the interpreter', () => {
    put('script', '#! /none/python -u\n', 0o755);
    assert.equal(refused('ENOENT', '~/script'), 'programNotFound: "/none/python", the interpreter of "~/script", does not exist');
  });

  test('for a carriage return after the interpreter makes it visible', () => {
    put('dos-script', '#!/bin/sh\r\necho\r\n', 0o755);
    assert.equal(
      refused('ENOENT', '~/dos-script'),
      'programNotFound: "/bin/sh\\r", the interpreter of "~/dos-script", does not exist',
    );
  });

  test('for a missing loader does not claim that the program is missing', () => {
    put('foreign', Buffer.from('\u007fELF\0\0'), 0o755);
    assert.equal(refused('ENOENT', '~/foreign'), 'programNotFound: the loader of "~/foreign" does not exist');
  });

  test('for the file’s format is notExecutable', () => {
    assert.equal(refused('ENOEXEC', '~/here'), 'notExecutable: "~/here" is not in a format this machine can execute');
  });

  test('for lack of permission depends on the kind of file', () => {
    assert.deepEqual(
      ['~/bin/plain', '~/bin', '~/here'].map((file) => refused('EACCES', file)),
      [
        'notExecutable: "~/bin/plain" is not an executable file',
        'notExecutable: "~/bin" is not an executable file',
        'permissionDenied: permission to execute "~/here" is denied',
      ],
    );
  });

  test('for the length of its arguments is badArgument', () => {
    assert.equal(refused('E2BIG'), 'badArgument: arguments and environment together are longer than the kernel accepts');
  });

  test('for the program’s name is badArgument', () => {
    assert.deepEqual(
      ['ENAMETOOLONG', 'ELOOP', 'EINVAL'].map((errno) => refused(errno)),
      ['ENAMETOOLONG', 'ELOOP', 'EINVAL'].map((errno) => `badArgument: "/bin/sh" cannot be executed: ${errno}`),
    );
  });

  test('for any other reason is outOfResources', () => {
    assert.deepEqual(
      ['EAGAIN', 'ENOMEM', 'errno 999'].map((errno) => refused(errno)),
      ['EAGAIN', 'ENOMEM', 'errno 999'].map(
        (errno) => `outOfResources: the operating system cannot start another process now: ${errno}`,
      ),
    );
  });

  test('crosses the wire as an internal error', () => {
    const error: ExecError = spawnFailureFrom('EAGAIN', '/bin/sh', '/');
    assert.deepEqual([error.kind, error.code], ['spawnFailed', -32603]);
  });
});

describe('the first bytes of a file', () => {
  test('identify its interpreter, with and without spaces and arguments', () => {
    const scripts = ['#!/bin/sh', '#! \t/usr/bin/env node\n', '#!relative\n', 'echo\n', '', '#!\n', '#'];
    assert.deepEqual(
      scripts.map((content) => interpreterOf(put('probe', content, 0o755))),
      ['/bin/sh', '/usr/bin/env', 'relative', undefined, undefined, undefined, undefined],
    );
  });

  test('distinguish text from a binary', () => {
    assert.deepEqual(
      ['echo\n', '', 'ELF\0'].map((content) => isText(put('probe', content, 0o755))),
      [true, true, false],
    );
  });

  test('of a file that cannot be read identify nothing', () => {
    assert.deepEqual([interpreterOf(join(folder, 'none')), interpreterOf(folder)], [undefined, undefined]);
  });
});

test('only an error of the operating system has an errno name', () => {
  const errors = [
    Object.assign(new Error('x'), { code: 'EPIPE' }),
    Object.assign(new Error('x'), { code: 5 }),
    new Error('x'),
    'EPIPE',
  ];
  assert.deepEqual(errors.map(errnoOf), ['EPIPE', undefined, undefined, undefined]);
});
