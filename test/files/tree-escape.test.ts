// Archives that try to write outside their destination, or that stop in the middle.

import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { packTree } from '#src/files/tree/pack.js';
import { checksumOf, paddingOf } from '#src/files/tree/tar-format.js';
import { type EntryHeader, writeHeader } from '#src/files/tree/tar-writer.js';
import { unpackTree } from '#src/files/tree/unpack.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Random } from '../support/random.js';
import { namesBelow, treeSnapshot } from '../support/tree-snapshot.js';

guardAgainstLeaks();

const base = mkdtempSync(join(tmpdir(), 'sluice-tree-escape-'));
const [inside, outside, source] = [join(base, 'inside'), join(base, 'outside'), join(base, 'source')];
after(() => rmSync(base, { recursive: true }));
beforeEach(() => {
  for (const path of [inside, outside, source]) {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path);
  }
  writeFileSync(join(outside, 'secret'), 'untouched');
});

describe('an archive does not write outside its destination', () => {
  const attempts: Readonly<Record<string, () => Buffer[]>> = {
    'by ".." at the beginning': () => [file('../outside/new', 'x')],
    'by ".." in the middle': () => [folder('a'), file('a/../../outside/new', 'x')],
    'by ".." at the end of a folder': () => [folder('a/..')],
    'by an absolute path': () => [file(join(outside, 'new'), 'x')],
    'by an absolute path after slashes': () => [file(`//${outside}/new`, 'x')],
    'through a link of its own': () => [link('a', outside), file('a/new', 'x')],
    'through a relative link of its own': () => [link('a', '../outside'), file('a/new', 'x')],
    'through a link of its own to a folder, made as a folder': () => [link('a', outside), folder('a'), file('a/new', 'x')],
    'through a chain of links': () => [link('b', outside), link('a', 'b'), file('a/new', 'x')],
    'through a link to /proc/self/cwd': () => [link('a', `/proc/self/cwd/${outside}`), file('a/new', 'x')],
    'through a link to /proc/self/root': () => [link('a', `/proc/self/root${outside}`), file('a/new', 'x')],
    'through a link in the middle of a path': () => [folder('a'), link('a/b', outside), file('a/b/c/new', 'x')],
    'by a hard link to an absolute path': () => [hardLink('a', join(outside, 'secret')), file('a', 'x')],
    'by a hard link with ".."': () => [hardLink('a', '../outside/secret')],
    'by a hard link through a link': () => [link('a', outside), hardLink('b', 'a/secret')],
    'by a hard link to a link': () => [link('a', join(outside, 'secret')), hardLink('b', 'a')],
    'by a path with a NUL character': () => [file('a\0/../../outside/new', 'x'.repeat(10), 'long')],
    'by a file in the place of the tree itself': () => [file('.', 'x')],
  };
  for (const [attempt, entries] of Object.entries(attempts)) {
    test(attempt, async () => {
      await assert.rejects(unpackTree(place(inside), archive(entries())), { name: 'FileError', kind: 'refused' });
      assert.deepEqual(readdirSync(outside), ['secret']);
      assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'untouched');
      assert.equal(lstatSync(join(outside, 'secret')).nlink, 1);
    });
  }

  test('through a link that was there before', async () => {
    symlinkSync(outside, join(inside, 'a'));
    await assert.rejects(unpackTree(place(inside), archive([file('a/new', 'x')])), {
      kind: 'refused',
      message: '"a" is not a folder at the destination',
    });
    assert.deepEqual(readdirSync(outside), ['secret']);
  });

  test('through a link that replaces a folder meanwhile', async () => {
    async function* swapping(): AsyncGenerator<Uint8Array> {
      yield Buffer.concat([folder('a'), file('a/first', 'x')]);
      renameSync(join(inside, 'a'), join(inside, 'away'));
      symlinkSync(outside, join(inside, 'a'));
      yield Buffer.concat([file('a/second', 'x'), Buffer.alloc(1024)]);
    }
    await unpackTree(place(inside), swapping());
    assert.deepEqual(readdirSync(outside), ['secret']);
    assert.deepEqual(readdirSync(join(inside, 'away')).toSorted(), ['first', 'second']);
  });

  test('nor over a file that a link in its place points to: the link is replaced', async () => {
    symlinkSync(join(outside, 'secret'), join(inside, 'a'));
    await unpackTree(place(inside), archive([file('a', 'new')]));
    assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'untouched');
    assert.equal(readFileSync(join(inside, 'a'), 'utf8'), 'new');
    assert.ok(lstatSync(join(inside, 'a')).isFile());
  });

  test('with the rights of an owner whom the archive does not set', async () => {
    await unpackTree(place(inside), archive([entry({ kind: 'file', path: 'tool', mode: 0o6755 })]));
    assert.equal((lstatSync(join(inside, 'tool')).mode & 0o7777).toString(8), '755');
  });
});

describe('packing does not read outside the tree', () => {
  test('through a link that replaces a folder meanwhile', async () => {
    mkdirSync(join(source, 'a'));
    for (let index = 0; index < 400; index += 1) writeFileSync(join(source, `a/${index}`), 'x'.repeat(1000));
    writeFileSync(join(outside, '399'), 'secret');
    const chunks = packTree(place(source));
    const first = await chunks.next();
    renameSync(join(source, 'a'), join(base, 'moved'));
    symlinkSync(outside, join(source, 'a'));
    const read = [first.value as Uint8Array];
    for await (const chunk of chunks) read.push(chunk);
    rmSync(join(base, 'moved'), { recursive: true });
    assert.ok(!Buffer.concat(read).includes('secret'));
  });
});

describe('an entry takes the place of', () => {
  for (const kind of ['unnamed', 'named'] as const) {
    test(`a file, a link and another name of the same file (${kind})`, async () => {
      writeFileSync(join(inside, 'file'), 'old');
      writeFileSync(join(inside, 'to link'), 'old');
      symlinkSync('old', join(inside, 'link'));
      const entries = [
        file('file', 'new'),
        link('to link', 'file'),
        link('link', 'file'),
        hardLink('hard', 'file'),
        hardLink('hard', 'file'),
      ];
      await unpackTree(place(inside), archive(entries), { staging: { kind } });
      assert.equal(readFileSync(join(inside, 'file'), 'utf8'), 'new');
      assert.deepEqual(
        ['to link', 'link'].map((name) => readlinkSync(join(inside, name))),
        ['file', 'file'],
      );
      assert.equal(readFileSync(join(inside, 'hard'), 'utf8'), 'new');
      assert.deepEqual(readdirSync(inside).toSorted(), ['file', 'hard', 'link', 'to link']);
    });
  }

  test('no folder', async () => {
    mkdirSync(join(inside, 'a'));
    for (const unwanted of [file('a', 'x'), link('a', 'x')]) {
      await assert.rejects(unpackTree(place(inside), archive([unwanted])), { name: 'FileError', message: /"a"$/ });
      assert.deepEqual(namesBelow(inside), ['a']);
    }
  });
});

describe('an archive that stops in the middle', () => {
  for (const kind of ['unnamed', 'named'] as const) {
    test(`is an error, and leaves only whole files (${kind})`, async () => {
      const contents: Readonly<Record<string, string>> = {
        a: 'a'.repeat(700),
        'b/c': 'c'.repeat(40_000),
        'b/d': 'd',
        e: 'e'.repeat(90_000),
      };
      for (const [path, text] of Object.entries(contents)) {
        mkdirSync(join(source, path, '..'), { recursive: true });
        writeFileSync(join(source, path), text);
      }
      const whole: Uint8Array[] = [];
      for await (const chunk of packTree(place(source))) whole.push(chunk);
      const bytes = Buffer.concat(whole);
      for (let length = 0; length < bytes.length - 1024; length += 4_001) {
        rmSync(inside, { recursive: true });
        const cut = unpackTree(place(inside), one(bytes.subarray(0, length)), { staging: { kind } });
        await assert.rejects(cut, { name: 'FileError', message: 'the archive ends too early: its end mark is missing' });
        for (const [path, about] of Object.entries(treeSnapshot(inside))) {
          if (about.startsWith('file')) assert.equal(readFileSync(join(inside, path), 'utf8'), contents[path]);
          else assert.equal(path, 'b');
        }
      }
    });
  }

  test('whose source fails, fails with the same error', async () => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield file('a', 'x'.repeat(100_000)).subarray(0, 50_000);
      throw await Promise.resolve(new Error('connection lost'));
    }
    await assert.rejects(unpackTree(place(inside), failing()), { message: 'connection lost' });
    assert.deepEqual(namesBelow(inside), []);
  });
});

describe('what is no archive', () => {
  test('is refused if a header is damaged', async () => {
    const damaged = file('a', 'x');
    damaged[3] = 0x41;
    await assert.rejects(unpackTree(place(inside), archive([damaged])), {
      kind: 'refused',
      message: /checksum of a header is wrong/,
    });
  });

  test('is refused if an extended header is too long or cannot be read', async () => {
    for (const [size, body] of [
      [2 ** 31, ''],
      [9, '7 path=ab'],
      [5, 'abcde'],
      [12, '12 mtime=x1\n'],
    ] as const) {
      const records = entry({ kind: 'file', path: 'x', size }, body);
      records[156] = 'x'.charCodeAt(0);
      repairChecksum(records.subarray(0, 512));
      await assert.rejects(unpackTree(place(inside), archive([records, file('a', '')])), {
        kind: 'refused',
        message: /^the archive has/,
      });
    }
  });
});

test('an archive with random changes is unpacked or refused, and never writes outside', async () => {
  const parts = [
    folder('a'),
    file('a/small', 'x'.repeat(700)),
    link('a/link', '../..'),
    hardLink('a/hard', 'a/small'),
    file('n'.repeat(200), 'y'),
  ];
  const sound = Buffer.concat([...parts, file('large', 'z'.repeat(40_000)), Buffer.alloc(1024)]);
  for (let index = 0; index < 400; index += 1) {
    const random = Random.forCase(16, index);
    const changed = Buffer.from(sound);
    for (let change = random.below(4); change >= 0; change -= 1) {
      const block = random.below(12) * 512;
      changed[block + random.below(512)] = random.below(256);
      // The numbers stand after the name.
      changed[block + 100 + random.below(60)] = [0, 0x80, 0xff, 0x37][random.below(4)] ?? 0;
      repairChecksum(changed.subarray(block, block + 512));
    }
    try {
      await unpackTree(place(inside), one(changed));
    } catch (error) {
      assert.equal((error as Error).name, 'FileError', String(error));
    }
    assert.deepEqual(readdirSync(base).toSorted(), ['inside', 'outside', 'source']);
    assert.deepEqual(readdirSync(outside), ['secret']);
    rmSync(inside, { recursive: true, force: true });
  }
});

/** As if the writer of the archive had meant it. */
function repairChecksum(block: Buffer): void {
  block.write(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, 148);
}

function place(path: string): { path: string; openFlags: number; shown: string } {
  return { path, openFlags: 0, shown: path };
}

function archive(entries: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  return one(Buffer.concat([...entries, Buffer.alloc(1024)]));
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

function entry(header: Partial<EntryHeader> & Pick<EntryHeader, 'kind' | 'path'>, contents = ''): Buffer {
  const block = Buffer.alloc(70_000 + contents.length);
  const usual = { mode: 0o755, uid: 0, gid: 0, size: contents.length, modifiedAtUs: 1e15 } as const;
  const end = writeHeader(block, 0, { ...usual, ...header });
  block.write(contents, end);
  return block.subarray(0, end + contents.length + paddingOf(contents.length));
}

/** `long` puts the path into an extended header, where it can have every character. */
function file(path: string, contents: string, form: 'short' | 'long' = 'short'): Buffer {
  return entry({ kind: 'file', path: form === 'long' ? path.padEnd(300, 'n') : path }, contents);
}

function folder(path: string): Buffer {
  return entry({ kind: 'folder', path });
}

function link(path: string, target: string): Buffer {
  return entry({ kind: 'link', path, target });
}

/** This program packs none, but others do. */
function hardLink(path: string, target: string): Buffer {
  const block = link(path, target);
  block[156] = '1'.charCodeAt(0);
  block[153] = (block[153] ?? 0) - 1; // the last digit of the checksum
  return block;
}
