// Finding programs, and the words for why one cannot run. Every case holds for root as well, to whom little is denied.

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

/** As a user who may not enter every folder: root may. */
function unprivileged<T>(task: () => T): T {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    return task();
  } finally {
    process.seteuid?.(0);
  }
}

test('a program that is in no folder of PATH is not found, although one of them may not be entered', () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0 });
  const search = (program: string) => unprivileged(() => findProgram(program, '/', `${closed}:/usr/bin:/bin`));
  assert.match(search('sh'), /\/sh$/);
  const notFound = (error: unknown) => brief(error).startsWith('programNotFound: program "no-such-program" not found');
  assert.throws(() => search('no-such-program'), notFound);
});

/** The failure in the form 'kind: problem', with the temporary folder as ~. */
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

  test('is looked for past folders that do not exist or are files', () => {
    assert.equal(find('extra', '~/none:~/here:~/more'), '~/more/extra');
  });

  test('is looked for past files that are not executable', () => {
    assert.equal(find('plain', '~/bin:~/more'), '~/more/plain');
  });

  test('that nobody has is not found, and the text names PATH', () => {
    assert.equal(find('nothing', '~/bin:~/more'), 'programNotFound: program "nothing" not found in PATH "~/bin:~/more"');
  });

  test('that only names files one cannot execute says so', () => {
    assert.deepEqual(
      ['plain', 'sub', 'loop'].map((name) => find(name, '~/none:~/bin')),
      [
        'notExecutable: "~/bin/plain" is not an executable file',
        'notExecutable: "~/bin/sub" is not an executable file',
        'notExecutable: "~/bin/loop" is not an executable file',
      ],
    );
  });

  test('that names several files one cannot execute is told of the first', () => {
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

  test('is found in a relative folder of PATH as seen from the working folder', () => {
    assert.equal(find('tool', 'more'), '~/more/tool');
  });

  test('is found in the default path when there is no PATH', () => {
    assert.match(find('sh'), /^(\/usr)?\/bin\/sh$/);
  });

  test('that is not in the default path either is told so', () => {
    assert.equal(find('tool'), 'programNotFound: program "tool" not found in the default path "/bin:/usr/bin" (env has no PATH)');
  });

  test('longer than any file name can be is not found', () => {
    const name = 'x'.repeat(300);
    assert.equal(find(name, '~/bin'), `programNotFound: program "${name}" not found in PATH "~/bin"`);
  });

  test('that is empty names no program', () => {
    assert.equal(find('', '~/bin'), 'programNotFound: argv[0] is empty; it must name a program');
  });
});

describe('a name with a slash', () => {
  test('is a path from the working folder, whatever PATH says', () => {
    assert.deepEqual(
      [find('./here', ''), find('bin/tool', '~/more'), find('bin/../here', '')],
      ['~/here', '~/bin/tool', '~/here'],
    );
  });

  test('that is absolute is taken as it is', () => {
    assert.equal(find(join(folder, 'bin/tool'), ''), '~/bin/tool');
  });

  test('that leads to nothing to execute tells why', () => {
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

describe('what the kernel refused', () => {
  const refused = (errno: string, file = '/bin/sh', cwd = '/') =>
    brief(spawnFailureFrom(errno, file.replace('~', folder), cwd.replace('~', folder)));

  test('is blamed on the working folder when that is at fault', () => {
    assert.deepEqual(
      [refused('ENOENT', '/bin/sh', '~/none'), refused('ENOTDIR', '/bin/sh', '~/here')],
      ['cwdNotFound: cwd "~/none" does not exist', 'cwdNotDirectory: cwd "~/here" is not a folder'],
    );
  });

  test('for want of a file is a program that went away', () => {
    assert.equal(refused('ENOENT', '~/none'), 'programNotFound: program "~/none" does not exist');
  });

  test('for want of an interpreter names it', () => {
    put('script', '#! /none/python -u\n', 0o755);
    assert.equal(
      refused('ENOENT', '~/script'),
      'programNotFound: "/none/python", the interpreter that "~/script" asks for, does not exist',
    );
  });

  test('for a carriage return behind the interpreter shows it', () => {
    put('dos-script', '#!/bin/sh\r\necho\r\n', 0o755);
    assert.equal(
      refused('ENOENT', '~/dos-script'),
      'programNotFound: "/bin/sh\\r", the interpreter that "~/dos-script" asks for, does not exist',
    );
  });

  test('for want of a loader does not say that the program is missing', () => {
    put('foreign', Buffer.from('\u007fELF\0\0'), 0o755);
    assert.equal(refused('ENOENT', '~/foreign'), 'programNotFound: the loader that "~/foreign" asks for does not exist');
  });

  test('for its format is not executable', () => {
    assert.equal(refused('ENOEXEC', '~/here'), 'notExecutable: "~/here" is not in a format this machine can execute');
  });

  test('for a permission is explained by what the file is', () => {
    assert.deepEqual(
      ['~/bin/plain', '~/bin', '~/here'].map((file) => refused('EACCES', file)),
      [
        'notExecutable: "~/bin/plain" is not an executable file',
        'notExecutable: "~/bin" is not an executable file',
        'permissionDenied: permission to execute "~/here" is denied',
      ],
    );
  });

  test('for its length is a bad argument', () => {
    assert.equal(refused('E2BIG'), 'badArgument: arguments and environment together are longer than the kernel takes');
  });

  test('for its name is a bad argument', () => {
    assert.deepEqual(
      ['ENAMETOOLONG', 'ELOOP', 'EINVAL'].map((errno) => refused(errno)),
      ['ENAMETOOLONG', 'ELOOP', 'EINVAL'].map((errno) => `badArgument: "/bin/sh" cannot be executed: ${errno}`),
    );
  });

  test('for anything else is a want of resources', () => {
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
  test('tell its interpreter, with and without spaces and arguments', () => {
    const scripts = ['#!/bin/sh', '#! \t/usr/bin/env node\n', '#!relative\n', 'echo\n', '', '#!\n', '#'];
    assert.deepEqual(
      scripts.map((content) => interpreterOf(put('probe', content, 0o755))),
      ['/bin/sh', '/usr/bin/env', 'relative', undefined, undefined, undefined, undefined],
    );
  });

  test('tell text from a binary', () => {
    assert.deepEqual(
      ['echo\n', '', 'ELF\0'].map((content) => isText(put('probe', content, 0o755))),
      [true, true, false],
    );
  });

  test('of a file that cannot be read tell nothing', () => {
    assert.deepEqual([interpreterOf(join(folder, 'none')), interpreterOf(folder)], [undefined, undefined]);
  });
});

test('an error of the operating system has a name, and nothing else has', () => {
  const errors = [
    Object.assign(new Error('x'), { code: 'EPIPE' }),
    Object.assign(new Error('x'), { code: 5 }),
    new Error('x'),
    'EPIPE',
  ];
  assert.deepEqual(errors.map(errnoOf), ['EPIPE', undefined, undefined, undefined]);
});
