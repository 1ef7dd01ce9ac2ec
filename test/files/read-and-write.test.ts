// Whole files and open files: contents, limits, and everything that is not an ordinary file.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { ByteBudget, FileError, OpenFile, Paths, readFile, writeInPlace } from '#src/files/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch } from '../support/scratch.js';
import { budget, textOf } from './operations.js';

guardAgainstLeaks();

const paths = Paths.open();
after(() => paths.close());

async function write(path: string | Buffer, text: string, links: 'follow' | 'refuse' = 'follow'): Promise<void> {
  await writeInPlace(paths, path, { bytes: Buffer.from(text), links });
}

function notAFile(path: string): object {
  return { kind: 'refused', message: `path \`${path}\` is not a file` };
}

describe('reading a whole file', () => {
  test('returns its bytes', async () => {
    using scratch = new Scratch({ 'a.txt': 'hello\n', empty: '', link: { link: 'a.txt' } });
    assert.equal(await textOf(paths, scratch.at('a.txt')), 'hello\n');
    assert.equal(await textOf(paths, scratch.at('link')), 'hello\n');
    assert.equal(await textOf(paths, scratch.at('empty')), '');
    assert.equal(budget.heldBytes, 0);
  });

  test('works for a name that is not UTF-8', async () => {
    using scratch = new Scratch();
    const path = Buffer.concat([Buffer.from(`${scratch.path}/`), Buffer.of(0xff, 0xfe)]);
    writeFileSync(path, 'bytes');
    assert.equal(await textOf(paths, path), 'bytes');
    await write(path, 'other');
    assert.equal(readFileSync(path, 'utf8'), 'other');
  });

  test('reads a file whose size is unknown, and one that is longer than its size says', async () => {
    assert.equal(await textOf(paths, '/proc/self/environ'), readFileSync('/proc/self/environ', 'utf8'));
    assert.ok((await textOf(paths, '/proc/self/smaps')).length > 8 * 1024);
  });

  test('is refused above the limit, before anything is read', async () => {
    using scratch = new Scratch({ sparse: '', small: '12345' });
    truncateSync(scratch.at('sparse'), 4 * 1024 ** 3);
    await assert.rejects(textOf(paths, scratch.at('sparse')), {
      kind: 'refused',
      message: 'file is too large to read: limit is 536870912 bytes',
    });
    const limited = { links: 'follow', budget, mostBytes: 4 } as const;
    await assert.rejects(readFile(paths, scratch.at('small'), limited), { kind: 'refused' });
    (await readFile(paths, scratch.at('small'), { ...limited, mostBytes: 5 })).release();
    assert.equal(budget.heldBytes, 0);
  });

  test('of an endless file without a size stops at the limit', async () => {
    const limited = { links: 'follow', budget, mostBytes: 10 } as const;
    await assert.rejects(readFile(paths, '/proc/self/mountinfo', limited), { kind: 'refused' });
    assert.equal(budget.heldBytes, 0);
  });

  test('waits for the bytes that other reads hold', async () => {
    using scratch = new Scratch({ one: '1'.repeat(100), two: '2'.repeat(100) });
    const small = new ByteBudget(150);
    const first = await readFile(paths, scratch.at('one'), { links: 'follow', budget: small });
    const second = readFile(paths, scratch.at('two'), { links: 'follow', budget: small });
    while (small.waiting === 0) await new Promise(setImmediate);
    first.release();
    (await second).release();
    assert.equal(small.heldBytes, 0);
  });

  test('of a file that shrinks or grows meanwhile returns what there is then', async () => {
    using scratch = new Scratch({ file: 'x'.repeat(1000) });
    for (const size of [1000, 10, 0, 5000]) {
      const small = new ByteBudget(10);
      const lease = await small.take(10);
      const reading = readFile(paths, scratch.at('file'), { links: 'follow', budget: small });
      while (small.waiting === 0) await new Promise(setImmediate); // it has looked at the size and has not read
      truncateSync(scratch.at('file'), size);
      lease.release();
      const whole = await reading;
      assert.equal(whole.bytes.length, size);
      whole.release();
      assert.equal(small.heldBytes, 0);
      truncateSync(scratch.at('file'), 1000);
    }
  });

  for (const [what, path, errno] of [
    ['a missing file', 'none', 'ENOENT'],
    ['a broken link', 'broken', 'ENOENT'],
    ['a name below a file', 'file/x', 'ENOTDIR'],
    ['a loop of links', 'loop', 'ELOOP'],
    ['a name that is too long', 'x'.repeat(300), 'ENAMETOOLONG'],
  ] as const) {
    test(`of ${what} fails with ${errno}`, async () => {
      using scratch = new Scratch({ file: '', broken: { link: 'nowhere' }, loop: { link: 'loop' } });
      const problem = await textOf(paths, scratch.at(path)).catch((error: unknown) => error);
      assert.ok(problem instanceof FileError);
      assert.deepEqual([problem.kind, problem.errno], [errno === 'ENOENT' ? 'notFound' : 'failed', errno]);
      assert.ok(problem.message.endsWith(`open "${scratch.at(path)}"`), problem.message);
    });
  }

  test('of a path with a NUL character is refused', async () => {
    await assert.rejects(textOf(paths, '/tmp/a\0b'), { kind: 'refused' });
  });
});

describe('what is no file is recognised at once', () => {
  test('a folder', async () => {
    using scratch = new Scratch();
    await assert.rejects(textOf(paths, scratch.path), notAFile(scratch.path));
    await assert.rejects(OpenFile.open(paths, scratch.path, { mode: 'read', links: 'follow' }), notAFile(scratch.path));
    await assert.rejects(write(scratch.path, 'x'), { kind: 'failed', errno: 'EISDIR' });
  });

  test('a FIFO, with and without someone at its other end', async () => {
    using scratch = new Scratch();
    const path = scratch.at('fifo');
    execFileSync('mkfifo', [path]);
    for (const isOpen of [false, true]) {
      const other = isOpen ? openSync(path, constants.O_RDWR) : undefined;
      await assert.rejects(textOf(paths, path), notAFile(path));
      await assert.rejects(write(path, 'x'), notAFile(path));
      for (const mode of ['read', 'replace'] as const) {
        await assert.rejects(OpenFile.open(paths, path, { mode, links: 'follow' }), notAFile(path));
      }
      if (other !== undefined) closeSync(other);
    }
  });

  test('a socket', async () => {
    using scratch = new Scratch();
    const server = createServer().listen(scratch.at('socket'));
    await once(server, 'listening');
    await assert.rejects(textOf(paths, scratch.at('socket')), notAFile(scratch.at('socket')));
    server.close();
    await once(server, 'close');
  });

  test('a device', async () => {
    await assert.rejects(textOf(paths, '/dev/zero'), notAFile('/dev/zero'));
    await assert.rejects(OpenFile.open(paths, '/dev/zero', { mode: 'read', links: 'follow' }), notAFile('/dev/zero'));
    await assert.rejects(OpenFile.open(paths, '/dev/null', { mode: 'replace', links: 'follow' }), notAFile('/dev/null'));
  });
});

describe('writing a file in place', () => {
  test('creates it', async () => {
    using scratch = new Scratch({ ordinary: '' });
    await write(scratch.at('new'), 'new');
    assert.equal(scratch.text('new'), 'new');
    assert.equal(statSync(scratch.at('new')).mode & 0o777, statSync(scratch.at('ordinary')).mode & 0o777);
  });

  test('keeps its inode and mode, and leaves nothing of the old contents', async () => {
    using scratch = new Scratch({ old: 'a long text' });
    const { ino } = statSync(scratch.at('old'));
    execFileSync('chmod', ['750', scratch.at('old')]);
    await write(scratch.at('old'), 'y');
    const stats = statSync(scratch.at('old'));
    assert.deepEqual([scratch.text('old'), stats.ino, stats.mode & 0o777], ['y', ino, 0o750]);
    await write(scratch.at('old'), '');
    assert.equal(scratch.text('old'), '');
  });

  test('follows a link, also a broken one', async () => {
    using scratch = new Scratch({ file: 'x', link: { link: 'file' }, broken: { link: 'target' } });
    await write(scratch.at('link'), 'through');
    await write(scratch.at('broken'), 'made');
    assert.deepEqual([scratch.text('file'), scratch.text('target')], ['through', 'made']);
  });

  test('in a folder that is missing is not found', async () => {
    using scratch = new Scratch({ file: '' });
    await assert.rejects(write(scratch.at('none/x'), 'x'), { kind: 'notFound' });
    await assert.rejects(write(scratch.at('file/x'), 'x'), { kind: 'failed', errno: 'ENOTDIR' });
  });

  test('to a full device fails with ENOSPC, and to /dev/null works', async () => {
    await assert.rejects(write('/dev/full', 'x'), { kind: 'failed', errno: 'ENOSPC' });
    await write('/dev/null', 'x');
  });

  const readOnly = readOnlyMount();
  test(
    'on a read-only file system fails with EROFS',
    { skip: readOnly === undefined && 'nothing is mounted read-only' },
    async () => {
      await assert.rejects(write(`${readOnly}/x`, 'x'), { kind: 'failed', errno: 'EROFS' });
    },
  );
});

describe('an open file', () => {
  test('is read at any position', async () => {
    using scratch = new Scratch({ file: 'hello\n' });
    const file = await OpenFile.open(paths, scratch.at('file'), { mode: 'read', links: 'follow' });
    const at = async (offset: number, length: number) => Buffer.from(await file.readAt(offset, length)).toString();
    assert.deepEqual([await at(0, 6), await at(2, 2), await at(4, 100), await at(100, 2)], ['hello\n', 'll', 'o\n', '']);
    file.close();
  });

  test('of 4 GiB is read beyond the range of 32 bits', async () => {
    using scratch = new Scratch({ sparse: '' });
    const fd = openSync(scratch.at('sparse'), 'r+');
    ftruncateSync(fd, 4 * 1024 ** 3 + 10);
    closeSync(fd);
    const file = await OpenFile.open(paths, scratch.at('sparse'), { mode: 'read', links: 'follow' });
    assert.equal((await file.readAt(4 * 1024 ** 3, 1024)).length, 10);
    assert.equal(file.stats.size, 4 * 1024 ** 3 + 10);
    file.close();
  });

  test('is written at any position', async () => {
    using scratch = new Scratch({ file: 'something long' });
    const file = await OpenFile.open(paths, scratch.at('file'), { mode: 'replace', links: 'follow' });
    assert.equal(scratch.text('file'), '');
    await file.writeAt(3, Buffer.from('def'));
    await file.writeAt(0, Buffer.from('abc'));
    file.close();
    assert.equal(scratch.text('file'), 'abcdef');
  });

  test('does only what it was opened for', async () => {
    using scratch = new Scratch({ file: 'x' });
    const reader = await OpenFile.open(paths, scratch.at('file'), { mode: 'read', links: 'follow' });
    await assert.rejects(reader.writeAt(0, Buffer.from('y')), { kind: 'failed', errno: 'EBADF' });
    reader.close();
    const writer = await OpenFile.open(paths, scratch.at('file'), { mode: 'replace', links: 'follow' });
    await assert.rejects(writer.readAt(0, 1), { kind: 'failed', errno: 'EBADF' });
    writer.close();
  });

  test('is closed after the calls that are under way, and can be closed twice', async () => {
    using scratch = new Scratch({ file: 'x'.repeat(100_000) });
    const file = await OpenFile.open(paths, scratch.at('file'), { mode: 'read', links: 'follow' });
    const reads = [0, 1, 2].map(async (offset) => file.readAt(offset, 100_000));
    file.close();
    file.close();
    assert.deepEqual(
      (await Promise.all(reads)).map((bytes) => bytes.length),
      [100_000, 99_999, 99_998],
    );
    await assert.rejects(file.readAt(0, 1), { kind: 'failed' });
  });

  test('keeps reading a file that is removed, and ends early in one that shrinks', async () => {
    using scratch = new Scratch({ file: 'hello' });
    const file = await OpenFile.open(paths, scratch.at('file'), { mode: 'read', links: 'follow' });
    truncateSync(scratch.at('file'), 2);
    execFileSync('rm', [scratch.at('file')]);
    assert.equal(Buffer.from(await file.readAt(0, 10)).toString(), 'he');
    file.close();
  });
});

/** A folder on a file system that is mounted read-only, if this machine has one that can be reached. */
function readOnlyMount(): string | undefined {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts
    .map((line) => line.split(' '))
    .find(([, folder = '', , options = '']) => /^ro(,|$)/.test(options) && canList(folder))?.[1];
}

function canList(folder: string): boolean {
  try {
    return existsSync(folder) && readdirSync(folder).length >= 0;
  } catch {
    return false;
  }
}
