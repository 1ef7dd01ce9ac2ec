// Files that are replaced in one step, and the other ways to write a file piece by piece.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { openSync, readlinkSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { folderCalls } from '#src/files/folder-calls.js';
import type { FileWriter, WriteOptions, WrittenFile } from '#src/files/file-writer.js';
import { metadata } from '#src/files/metadata.js';
import { appendFile, overwriteFile } from '#src/files/overwrite.js';
import { Paths } from '#src/files/paths.js';
import { type ReplaceOptions, replaceFile } from '#src/files/replace.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

guardAgainstLeaks();

const base = mkdtempSync(join(tmpdir(), 'sluice-replace-'));
const folder = join(base, 'folder');
const file = join(folder, 'file');
const unconfined = Paths.open();
after(() => {
  unconfined.close();
  rmSync(base, { recursive: true });
});
beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});

for (const kind of ['unnamed', 'named'] as const) {
  describe(`a file that is replaced (${kind} until then)`, () => {
    const replace = async (path: string, text: string, options: ReplaceOptions = {}): Promise<WrittenFile> =>
      written(await open(path, { ...options, staging: { kind } }), text);

    test('has its old contents until the end', async () => {
      writeFileSync(file, 'old');
      const writer = await open(file, { staging: { kind } });
      await writer.write(Buffer.from('ne'));
      await writer.write(Buffer.from('w'));
      assert.equal(readFileSync(file, 'utf8'), 'old');
      const { how, metadata: found } = await writer.commit();
      assert.equal(how, 'renamed');
      assert.equal(found.size, 3);
      assert.equal(found.inode, statSync(file).ino);
      assert.equal(readFileSync(file, 'utf8'), 'new');
      assert.deepEqual(readdirSync(folder), ['file']);
    });

    test('is created if it does not exist, less the umask', async () => {
      assert.equal((await replace(file, 'new')).how, 'created');
      assert.equal(readFileSync(file, 'utf8'), 'new');
      assert.deepEqual(readdirSync(folder), ['file']);
      writeFileSync(join(folder, 'other'), '');
      assert.equal(statSync(file).mode, statSync(join(folder, 'other')).mode);
    });

    test('is on the disk at the end if that was asked for', async () => {
      for (const how of ['created', 'renamed']) assert.equal((await replace(file, 'new', { durability: 'fsync' })).how, how);
      assert.equal(readFileSync(file, 'utf8'), 'new');
    });

    test('has the mode that was asked for', async () => {
      await replace(file, 'new', { mode: 0o604 });
      assert.equal(statSync(file).mode & 0o7777, 0o604);
      await replace(file, 'newer', { mode: 0o640 });
      assert.equal(statSync(file).mode & 0o7777, 0o640);
    });

    test('keeps its mode, without the bits that lend rights', async () => {
      writeFileSync(file, 'old');
      chmodSync(file, 0o6751);
      await replace(file, 'new');
      assert.equal(statSync(file).mode & 0o7777, 0o751);
    });

    test('keeps its owner', { skip: process.getuid?.() === 0 ? false : 'needs root' }, async () => {
      writeFileSync(file, 'old');
      chownSync(file, 1234, 4321);
      assert.equal((await replace(file, 'new')).how, 'renamed');
      assert.deepEqual([statSync(file).uid, statSync(file).gid], [1234, 4321]);
    });

    test('keeps its extended attributes', async (context) => {
      writeFileSync(file, 'old');
      if (!setAttribute(file)) return context.skip('this file system has none');
      await replace(file, 'new');
      assert.equal(attributeOf(file), 'blue');
    });

    test('is the target of links, which stay', async () => {
      mkdirSync(join(folder, 'other'));
      writeFileSync(join(folder, 'other/target'), 'old');
      symlinkSync('other/target', join(folder, 'middle'));
      symlinkSync(join(folder, 'middle'), file);
      await replace(file, 'new');
      assert.equal(readFileSync(join(folder, 'other/target'), 'utf8'), 'new');
      assert.deepEqual([readlinkSync(join(folder, 'middle')), readlinkSync(file)], ['other/target', join(folder, 'middle')]);
    });

    test('is created where a dangling link points to', async () => {
      mkdirSync(join(folder, 'other'));
      symlinkSync('other/../new', file);
      await replace(file, 'new');
      assert.equal(readFileSync(join(folder, 'new'), 'utf8'), 'new');
      assert.ok(lstatSync(file).isSymbolicLink());
    });

    test('leaves its other hard links with the old contents', async () => {
      writeFileSync(file, 'old');
      linkSync(file, join(folder, 'other'));
      await replace(file, 'new');
      assert.deepEqual([readFileSync(file, 'utf8'), readFileSync(join(folder, 'other'), 'utf8')], ['new', 'old']);
    });

    test('stays as it is if the writer is aborted, also during a write', async () => {
      writeFileSync(file, 'old');
      const writer = await open(file, { staging: { kind } });
      const write = writer.write(Buffer.alloc(10_000_000));
      await Promise.all([write, writer.abort()]);
      await writer.abort();
      await assert.rejects(writer.write(Buffer.from('x')), { message: 'the file is no longer open for writing' });
      await assert.rejects(writer.commit(), { message: 'the file is no longer open for writing' });
      assert.equal(readFileSync(file, 'utf8'), 'old');
      assert.deepEqual(readdirSync(folder), ['file']);
    });

    test('may have any name', async () => {
      const names = [Buffer.from('\xe4 \n"$', 'latin1'), Buffer.from('n'.repeat(255)), Buffer.from('-rf')];
      for (const name of names) {
        const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
        for (const text of ['old', 'new']) {
          const place = await unconfined.at(path, { links: 'follow', for: 'write' });
          await written(await replaceFile(place, { staging: { kind } }), text);
          assert.equal(readFileSync(path, 'utf8'), text);
        }
      }
      assert.equal(readdirSync(folder).length, 3);
    });

    test('belongs to one of several writers, whole', async () => {
      const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
      const writers = await Promise.all(texts.map(async () => open(file, { staging: { kind } })));
      await Promise.all(writers.map(async (writer, index) => written(writer, texts[index] ?? '')));
      assert.ok(texts.includes(readFileSync(file, 'utf8')));
      assert.deepEqual(readdirSync(folder), ['file']);
    });

    test('is created by one of several writers who expect none', async () => {
      const options = { staging: { kind }, expected: 'absent' } as const;
      const writers = await Promise.all(Array.from({ length: 10 }, async () => open(file, options)));
      const ends = await Promise.allSettled(writers.map(async (writer, index) => written(writer, String(index))));
      const winner = ends.findIndex(({ status }) => status === 'fulfilled');
      assert.equal(readFileSync(file, 'utf8'), String(winner));
      const errors = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
      assert.deepEqual(
        errors,
        Array.from({ length: 9 }, () => `FileError: EEXIST: file already exists, "${file}"`),
      );
      assert.deepEqual(readdirSync(folder), ['file']);
    });

    test('is found from a server that is confined to a root', async () => {
      const confined = Paths.open({ roots: [folder] });
      symlinkSync('target', file);
      for (const [text, how] of [
        ['one', 'created'],
        ['two', 'renamed'],
      ] as const) {
        const place = await confined.at(file, { links: 'follow', for: 'write' });
        const writer = await replaceFile(place, { staging: { kind } });
        place.close();
        assert.equal((await written(writer, text)).how, how);
        assert.equal(readFileSync(join(folder, 'target'), 'utf8'), text);
      }
      confined.close();
      assert.deepEqual(readdirSync(folder).toSorted(), ['file', 'target']);
    });
  });
}

describe('a file is not replaced', () => {
  test('if it is not what was expected', async () => {
    const changes: Readonly<Record<string, [() => void, string]>> = {
      size: [() => writeFileSync(file, 'longer'), 'it had 3 bytes and has 6'],
      time: [() => utimesSync(file, 1, 1), 'it was written to'],
      inode: [() => replaceByOther(), 'it was replaced by another file'],
      name: [() => unlinkSync(file), 'it was removed'],
    };
    for (const [change, how] of Object.values(changes)) {
      writeFileSync(file, 'old');
      const expected = await metadata(unconfined, file, { links: 'follow' });
      const writer = await open(file, { expected });
      await writer.write(Buffer.from('new'));
      change();
      await assert.rejects(writer.commit(), { kind: 'refused', message: `"${file}" has changed meanwhile: ${how}` });
      await assert.rejects(open(file, { expected }), { kind: 'refused' });
      assert.deepEqual(
        readdirSync(folder).filter((name) => name !== 'file' && name !== 'other'),
        [],
      );
    }
    const expected = await metadata(unconfined, folder, { links: 'follow' });
    await assert.rejects(open(file, { expected }), { message: `"${file}" has changed meanwhile: it was removed` });
  });

  test('if it is a folder, a FIFO, or below nothing', async () => {
    execFileSync('mkfifo', [file]);
    await assert.rejects(open(file), { kind: 'refused', message: `path \`${file}\` is not a file` });
    await assert.rejects(open(folder), { kind: 'failed', errno: 'EISDIR' });
    await assert.rejects(open(join(folder, 'none/file')), { kind: 'notFound', message: /none\/file"$/ });
    assert.deepEqual(readdirSync(folder), ['file']);
  });

  test('if links lead in a circle', async () => {
    symlinkSync('b', join(folder, 'a'));
    symlinkSync('a', join(folder, 'b'));
    await assert.rejects(open(join(folder, 'a')), { errno: 'ELOOP' });
  });
});

describe('a file that is written in place', () => {
  test('keeps its inode and its other names, and loses what is left of longer contents', async () => {
    writeFileSync(file, 'a long old text');
    const before = statSync(file).ino;
    const { how, metadata: found } = await written(await inPlace(overwriteFile), 'new');
    assert.deepEqual({ how, inode: found.inode, size: found.size }, { how: 'inPlace', inode: before, size: 3 });
    assert.equal(readFileSync(file, 'utf8'), 'new');
  });

  test('is not touched unless it is what was expected', async () => {
    writeFileSync(file, 'old');
    await assert.rejects(inPlace(overwriteFile, { expected: 'absent' }), { errno: 'EEXIST' });
    const expected = { ...(await metadata(unconfined, file, { links: 'follow' })), size: 7 };
    for (const way of [overwriteFile, appendFile]) {
      await assert.rejects(inPlace(way, { expected }), { message: `"${file}" has changed meanwhile: it had 7 bytes and has 3` });
    }
    assert.equal(readFileSync(file, 'utf8'), 'old');
  });

  test('is created with the mode that was asked for', async () => {
    await written(await inPlace(overwriteFile, { mode: 0o604, expected: 'absent' }), 'new');
    assert.equal(statSync(file).mode & 0o7777, 0o604);
  });

  test('grows at its end when it is appended to', async () => {
    for (const text of ['one ', 'two']) assert.equal((await written(await inPlace(appendFile), text)).how, 'appended');
    assert.equal(readFileSync(file, 'utf8'), 'one two');
  });

  test('is not a FIFO or a folder', async () => {
    execFileSync('mkfifo', [file]);
    await assert.rejects(inPlace(appendFile), { kind: 'refused', message: `path \`${file}\` is not a file` });
    rmSync(file);
    mkdirSync(file);
    await assert.rejects(inPlace(appendFile), { errno: 'EISDIR' });
  });
});

async function open(path: string, options: ReplaceOptions = {}): Promise<FileWriter> {
  const place = await unconfined.at(path, { links: 'follow', for: 'write' });
  return replaceFile(place, options);
}

async function inPlace(way: typeof appendFile, options: WriteOptions = {}): Promise<FileWriter> {
  return way(await unconfined.at(file, { links: 'follow', for: 'write' }), options);
}

async function written(writer: FileWriter, text: string): Promise<WrittenFile> {
  await writer.write(Buffer.from(text));
  return writer.commit();
}

/** With the same size and time. */
function replaceByOther(): void {
  const { atime, mtime } = statSync(file);
  writeFileSync(join(folder, 'other'), 'dlo');
  utimesSync(join(folder, 'other'), atime, mtime);
  execFileSync('mv', [join(folder, 'other'), file]);
}

function setAttribute(path: string): boolean {
  const fd = openSync(path, 'r+');
  const isSet = folderCalls()?.fsetxattr(fd, Buffer.from('user.colour\0'), Buffer.from('blue'), 4, 0) === 0;
  closeSync(fd);
  return isSet;
}

function attributeOf(path: string): string {
  const fd = openSync(path, 'r');
  const value = Buffer.alloc(10);
  const size = folderCalls()?.fgetxattr(fd, Buffer.from('user.colour\0'), value, value.length) ?? 0;
  closeSync(fd);
  return value.toString('utf8', 0, Math.max(size, 0));
}
