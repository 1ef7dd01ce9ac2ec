// Folders and trees: making, listing, walking, removing, copying, moving.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { after, describe, test } from 'node:test';
import {
  Paths,
  type WalkOptions,
  canonicalise,
  copy,
  listFolder,
  makeDirectory,
  makeTemporary,
  metadata,
  move,
  readDirectory,
  readDirectoryWithinLimit,
  remove,
  walk,
  walkTree,
} from '#src/files/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch, treeOf } from '../support/scratch.js';

guardAgainstLeaks();

const paths = Paths.open();
after(() => paths.close());

const notUtf8 = Buffer.of(0x66, 0xff);

function below(scratch: Scratch, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${scratch.path}/`), name]);
}

describe('metadata', () => {
  test('are about what a link leads to, and say that it is a link', async () => {
    using scratch = new Scratch({
      'file.txt': 'hello\n',
      link: { link: 'file.txt' },
      folder: {},
      folderLink: { link: 'folder' },
    });
    const kinds = await Promise.all(
      ['file.txt', 'link', 'folder', 'folderLink'].map(async (name) => {
        const { kind, isLink } = await metadata(paths, scratch.at(name), { links: 'follow' });
        return [kind, isLink];
      }),
    );
    assert.deepEqual(kinds, [
      ['file', false],
      ['file', true],
      ['directory', false],
      ['directory', true],
    ]);
  });

  test('are complete', async () => {
    using scratch = new Scratch({ 'file.txt': 'hello\n' });
    linkSync(scratch.at('file.txt'), scratch.at('second'));
    utimesSync(scratch.at('file.txt'), 1, 1_234.5);
    const stats = statSync(scratch.at('file.txt'));
    assert.deepEqual(await metadata(paths, scratch.at('file.txt'), { links: 'follow' }), {
      kind: 'file',
      isLink: false,
      size: 6,
      mode: stats.mode & 0o7777,
      uid: stats.uid,
      gid: stats.gid,
      inode: stats.ino,
      device: stats.dev,
      links: 2,
      modifiedAtMs: 1_234_500,
      createdAtMs: Math.trunc(stats.birthtimeMs),
    });
  });

  test('of a link itself include its text', async () => {
    using scratch = new Scratch({ link: { link: '../somewhere' } });
    const { kind, isLink, target } = await metadata(paths, scratch.at('link'), { links: 'parents' });
    assert.deepEqual([kind, isLink, target], ['symlink', true, '../somewhere']);
  });

  test('of a FIFO say that it is neither file nor folder', async () => {
    using scratch = new Scratch();
    execFileSync('mkfifo', [scratch.at('fifo')]);
    assert.equal((await metadata(paths, scratch.at('fifo'), { links: 'follow' })).kind, 'other');
  });

  test('of what is missing are not found', async () => {
    using scratch = new Scratch({ file: '', broken: { link: 'nowhere' } });
    for (const name of ['none', 'broken', 'none/x']) {
      await assert.rejects(metadata(paths, scratch.at(name), { links: 'follow' }), { kind: 'notFound' });
    }
    await assert.rejects(metadata(paths, scratch.at('file/x'), { links: 'follow' }), { kind: 'failed', errno: 'ENOTDIR' });
  });
});

describe('the real path', () => {
  test('has no links', async () => {
    using scratch = new Scratch({ 'folder/sub/x': '', link: { link: 'folder' } });
    assert.equal(await canonicalise(paths, scratch.at('link/sub')), realpathSync(scratch.at('folder/sub')));
    await assert.rejects(canonicalise(paths, scratch.at('link/none')), { kind: 'notFound' });
  });
});

describe('a folder', () => {
  test('is made with its parents, and may exist', async () => {
    using scratch = new Scratch({ file: '', folderLink: { link: 'm' }, broken: { link: 'nowhere' } });
    const options = { parents: 'make', links: 'follow' } as const;
    await makeDirectory(paths, scratch.at('m/k/d'), options);
    await makeDirectory(paths, scratch.at('m/k/d'), options);
    await makeDirectory(paths, scratch.at('folderLink/x'), options);
    await makeDirectory(paths, scratch.at('folderLink'), options);
    assert.ok(existsSync(scratch.at('m/x')));
    for (const name of ['file', 'broken'])
      await assert.rejects(makeDirectory(paths, scratch.at(name), options), { errno: 'EEXIST' });
    await assert.rejects(makeDirectory(paths, scratch.at('file/x'), options), { errno: 'ENOTDIR' });
    await assert.rejects(makeDirectory(paths, scratch.at('broken/x'), options), { errno: 'EEXIST' });
  });

  test('is made alone', async () => {
    using scratch = new Scratch();
    const options = { parents: 'require', links: 'follow' } as const;
    await makeDirectory(paths, scratch.at('m'), { ...options, mode: 0o700 });
    assert.equal(statSync(scratch.at('m')).mode & 0o777, 0o700);
    await assert.rejects(makeDirectory(paths, scratch.at('m'), options), { kind: 'failed', errno: 'EEXIST' });
    await assert.rejects(makeDirectory(paths, scratch.at('n/k'), options), { kind: 'notFound' });
  });

  test('that is temporary is only for its owner and has a name that cannot be guessed', async () => {
    using scratch = new Scratch();
    const folder = await makeTemporary(paths, { kind: 'directory', parent: scratch.path });
    const file = await makeTemporary(paths, { kind: 'file', parent: scratch.path, prefix: 'mine-' });
    assert.equal(statSync(folder).mode & 0o7777, 0o700);
    assert.equal(statSync(file).mode & 0o7777, 0o600);
    assert.match(String(file), /\/mine-[\da-f]{24}$/);
    for (const prefix of ['a/b', 'a\0b', 'x'.repeat(201)]) {
      await assert.rejects(makeTemporary(paths, { kind: 'file', parent: scratch.path, prefix }), { kind: 'refused' });
    }
  });
});

describe('a listing as in Codex', () => {
  test('judges links by their target and leaves out those that lead nowhere', async () => {
    using scratch = new Scratch({
      '.hidden': '',
      one: '',
      'sub/x': '',
      toOne: { link: 'one' },
      toSub: { link: 'sub' },
      gone: { link: 'nowhere' },
    });
    execFileSync('mkfifo', [scratch.at('fifo')]);
    const entries = (await readDirectory(paths, scratch.path)).toSorted((one, other) =>
      String(one.name) < String(other.name) ? -1 : 1,
    );
    assert.deepEqual(
      entries.map(({ name, kind, isLink }) => [name, kind, isLink]),
      [
        ['.hidden', 'file', false],
        ['fifo', 'other', false],
        ['one', 'file', false],
        ['sub', 'directory', false],
        ['toOne', 'file', true],
        ['toSub', 'directory', true],
      ],
    );
  });

  test('of what is no folder fails', async () => {
    using scratch = new Scratch({ file: '' });
    await assert.rejects(readDirectory(paths, scratch.at('none')), { kind: 'notFound' });
    await assert.rejects(readDirectory(paths, scratch.at('file')), { kind: 'failed', errno: 'ENOTDIR' });
  });
});

describe('a folder of 100 000 entries', () => {
  const scratch = new Scratch({}, existsSync('/dev/shm') ? '/dev/shm' : undefined);
  execFileSync('sh', ['-c', 'seq -f f%.0f 0 99999 | xargs touch'], { cwd: scratch.path });
  after(() => scratch[Symbol.dispose]());

  test('is listed in pages, sorted and complete', async () => {
    const names: string[] = [];
    for (let next: string | undefined = ''; next !== undefined;) {
      const page = await listFolder(paths, scratch.path, { limit: 60_000, ...(next === '' ? {} : { after: next }) });
      for (const { name } of page.entries) names.push(String(name));
      next = page.next === undefined ? undefined : String(page.next);
    }
    assert.equal(names.length, 100_000);
    assert.deepEqual(names, names.toSorted());
  });

  test('exceeds the limit of a listing as in Codex', async () => {
    await assert.rejects(readDirectoryWithinLimit(paths, scratch.path), {
      kind: 'failed',
      message: 'fs/readDirectory returned 100000 entries; limit is 50000',
    });
  });
});

describe('a page of a folder', () => {
  test('describes the entries themselves', async () => {
    using scratch = new Scratch({ b: 'bb', 'a/x': '', c: { link: 'b' } });
    writeFileSync(below(scratch, notUtf8), '');
    const { entries, next } = await listFolder(paths, scratch.path, { limit: 10 });
    assert.deepEqual(
      entries.map(({ name, kind, target }) => [name, kind, target]),
      [
        ['a', 'directory', undefined],
        ['b', 'file', undefined],
        ['c', 'symlink', 'b'],
        [notUtf8, 'file', undefined],
      ],
    );
    assert.equal(next, undefined);
  });

  test('starts after a name, which need not exist', async () => {
    using scratch = new Scratch({ a: '', b: '', d: '', e: '' });
    const page = await listFolder(paths, scratch.path, { after: 'c', limit: 1 });
    assert.deepEqual([page.entries.map(({ name }) => name), page.next], [['d'], 'd']);
    assert.equal((await listFolder(paths, scratch.path, { after: 'd', limit: 1 })).next, undefined);
  });
});

describe('a walk as in Codex', () => {
  const all: WalkOptions = {
    maxDepth: 6,
    maxDirectories: 2000,
    maxEntries: 20_000,
    directoryLinks: 'follow',
    hiddenDirectories: 'prune',
  };

  async function walked(scratch: Scratch, name: string, options: Partial<WalkOptions> = {}): Promise<string> {
    const outcome = await walk(paths, scratch.at(name), { ...all, ...options });
    assert.deepEqual(outcome.errors, []);
    const entries = outcome.entries.map(
      ({ path, kind }) => `${String(path).slice(scratch.at(name).length + 1)}${kind === 'file' ? '' : '/'}`,
    );
    return [...entries, ...(outcome.isTruncated ? ['…'] : [])].join(' ');
  }

  function tree(): Scratch {
    const scratch = new Scratch({
      'dir/.hidden': '',
      'dir/one.txt': '',
      'dir/sub/two.txt': '',
      'dir/lsub': { link: 'sub' },
      'dir/lone': { link: 'one.txt' },
      'dir/lgone': { link: 'gone' },
      'full/a/b/c.txt': '',
      'hid/.in/x': '',
      linkdir: { link: 'dir' },
      'round/back': { link: '../round' },
      'round/x': '',
    });
    execFileSync('mkfifo', [scratch.at('dir/fifo')]);
    return scratch;
  }

  for (const [what, name, options, expected] of [
    ['enters each folder once, by its first name', 'dir', {}, '.hidden lsub/ one.txt sub/ lsub/two.txt'],
    ['leaves out links that are not followed', 'dir', { directoryLinks: 'ignore' }, '.hidden one.txt sub/ sub/two.txt'],
    ['lists to a depth of 1', 'full', { maxDepth: 1 }, 'a/ a/b/'],
    ['lists to a depth of 0', 'full', { maxDepth: 0 }, 'a/'],
    ['stops after one entry', 'full', { maxEntries: 1 }, 'a/ …'],
    ['stops after one folder', 'full', { maxDirectories: 1 }, 'a/ …'],
    ['does not enter hidden folders', 'hid', {}, '.in/'],
    ['enters hidden folders', 'hid', { hiddenDirectories: 'enter' }, '.in/ .in/x'],
    ['does not go round in circles', 'round', {}, 'back/ x'],
    ['finds nothing in a file', 'dir/one.txt', {}, ''],
    ['follows a link at its root', 'linkdir', {}, '.hidden lsub/ one.txt sub/ lsub/two.txt'],
    ['does not follow a link at its root', 'linkdir', { directoryLinks: 'ignore' }, ''],
  ] as const) {
    test(what, async () => {
      using scratch = tree();
      assert.equal(await walked(scratch, name, options), expected);
    });
  }

  test('fails when its root is missing or its limits are wrong', async () => {
    using scratch = tree();
    await assert.rejects(walk(paths, scratch.at('none'), all), { kind: 'notFound' });
    const tooMuch = 'filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000';
    for (const excess of [{ maxDepth: 65 }, { maxDirectories: 10_001 }, { maxEntries: 50_001 }]) {
      await assert.rejects(walk(paths, scratch.at('none'), { ...all, ...excess }), { kind: 'refused', message: tooMuch });
    }
    for (const zero of [{ maxDirectories: 0 }, { maxEntries: 0 }]) {
      await assert.rejects(walk(paths, scratch.path, { ...all, ...zero }), {
        message: 'filesystem walk limits must be greater than zero',
      });
    }
  });

  test('ends when its outcome is 4 MiB long', async () => {
    using scratch = new Scratch();
    const long = 'x'.repeat(250);
    let folder = scratch.path;
    for (let level = 0; level < 10; level += 1) {
      folder = `${folder}/${long}`;
      mkdirSync(folder);
    }
    for (let number = 0; number < 2000; number += 1) writeFileSync(`${folder}/${number}`, '');
    const { entries, isTruncated } = await walk(paths, scratch.path, { ...all, maxDepth: 20 });
    assert.equal(isTruncated, true);
    assert.ok(entries.length < 2010);
  });

  test('stops when it is no longer wanted', async () => {
    using scratch = tree();
    await assert.rejects(walk(paths, scratch.path, { ...all, signal: AbortSignal.abort() }), { name: 'AbortError' });
  });
});

describe('a walk page by page', () => {
  test('is sorted and complete, however long the pages are', async () => {
    using scratch = new Scratch({
      'a/b/c': '',
      'a/d': '',
      'a.b': '',
      a0: '',
      'empty/': {},
      link: { link: 'a' },
      'z/deep/er': '',
    });
    writeFileSync(below(scratch, notUtf8), '');
    const whole = await walkTree(paths, scratch.path, { limit: 100, folderLinks: 'ignore' });
    assert.deepEqual(
      whole.entries.map(({ path }) => path),
      ['a', 'a/b', 'a/b/c', 'a/d', 'a.b', 'a0', 'empty', notUtf8, 'link', 'z', 'z/deep', 'z/deep/er'],
    );
    for (let limit = 1; limit < 14; limit += 1) {
      const found: unknown[] = [];
      for (let next: string | Buffer | undefined = ''; next !== undefined;) {
        const page: Awaited<ReturnType<typeof walkTree>> = await walkTree(paths, scratch.path, {
          limit,
          folderLinks: 'ignore',
          ...(next === '' ? {} : { after: next }),
        });
        found.push(...page.entries);
        next = page.next;
      }
      assert.deepEqual(found, whole.entries, `pages of ${limit}`);
    }
  });

  test('enters folders behind links, except those that contain the link', async () => {
    using scratch = new Scratch({ 'a/x': '', 'a/back': { link: '..' }, b: { link: 'a' } });
    const { entries, errors } = await walkTree(paths, scratch.path, { limit: 100, folderLinks: 'follow' });
    assert.deepEqual([entries.map(({ path }) => path), errors], [['a', 'a/back', 'a/x', 'b', 'b/back', 'b/x'], []]);
  });

  test('goes to a depth', async () => {
    using scratch = new Scratch({ 'a/b/c': '' });
    const { entries } = await walkTree(paths, scratch.path, { limit: 100, folderLinks: 'ignore', maxDepth: 1 });
    assert.deepEqual(
      entries.map(({ path }) => path),
      ['a', 'a/b'],
    );
  });
});

describe('removing', () => {
  const force = { contents: 'remove', absent: 'accept', links: 'follow' } as const;
  const careful = { contents: 'refuse', absent: 'refuse', links: 'follow' } as const;

  test('takes a file, a link and an empty folder', async () => {
    using scratch = new Scratch({ file: '', folder: {}, 'kept/x': '', link: { link: 'kept' } });
    for (const name of ['file', 'folder', 'link']) await remove(paths, scratch.at(name), careful);
    assert.deepEqual(
      treeOf(scratch.path).map((line) => line.split(' ')[0]),
      ['kept', 'kept/x'],
    );
  });

  test('takes a tree, but not what its links lead to', async () => {
    using scratch = new Scratch({
      'kept/x': '',
      'tree/a/b/c': '',
      'tree/link': { link: '../kept' },
      'tree/a/loop': { link: '.' },
    });
    writeFileSync(below(scratch, Buffer.concat([Buffer.from('tree/'), notUtf8])), '');
    await remove(paths, scratch.at('tree'), force);
    assert.deepEqual(
      treeOf(scratch.path).map((line) => line.split(' ')[0]),
      ['kept', 'kept/x'],
    );
  });

  test('fails for what is absent or not empty, unless told otherwise', async () => {
    using scratch = new Scratch({ 'tree/x': '' });
    await assert.rejects(remove(paths, scratch.at('none'), careful), { kind: 'notFound' });
    await assert.rejects(remove(paths, scratch.at('tree'), careful), { kind: 'failed', errno: 'ENOTEMPTY' });
    await remove(paths, scratch.at('none'), force);
    await remove(paths, scratch.at('none/x'), force);
  });

  test('of what may not be removed is refused', async () => {
    await assert.rejects(remove(paths, '/proc/version', force), { kind: 'refused', message: /unlink "\/proc\/version"$/ });
  });
});

describe('copying', () => {
  const plain = { folders: 'copy', existing: 'overwriteFiles' } as const;

  test('keeps the contents and mode of a file, and overwrites another', async () => {
    using scratch = new Scratch({ from: 'text', to: 'something longer' });
    execFileSync('chmod', ['751', scratch.at('from')]);
    for (const name of ['new', 'to']) {
      await copy(paths, { ...plain, from: scratch.at('from'), to: scratch.at(name) });
      assert.deepEqual([scratch.text(name), statSync(scratch.at(name)).mode & 0o777], ['text', 0o751]);
    }
  });

  test('copies a tree: links as links, without FIFOs', async () => {
    using scratch = new Scratch({
      'from/a/b': 'b',
      'from/link': { link: 'a/b' },
      'from/gone': { link: 'nowhere' },
      'from/empty': {},
    });
    execFileSync('mkfifo', [scratch.at('from/fifo')]);
    const count = await copy(paths, { ...plain, from: scratch.at('from'), to: scratch.at('to') });
    assert.deepEqual(count, { files: 3, bytes: 1, skipped: 1 });
    execFileSync('rm', [scratch.at('from/fifo')]);
    assert.deepEqual(treeOf(scratch.at('to')), treeOf(scratch.at('from')));
    await assert.rejects(copy(paths, { ...plain, from: scratch.at('from'), to: scratch.at('to') }), { errno: 'EEXIST' });
    await copy(paths, { folders: 'copy', existing: 'replace', from: scratch.at('from'), to: scratch.at('to') });
    await assert.rejects(copy(paths, { folders: 'copy', existing: 'refuse', from: scratch.at('from'), to: scratch.at('to') }), {
      errno: 'EEXIST',
    });
  });

  for (const [what, from, to, options, expected] of [
    [
      'a folder without its contents',
      'dir',
      'new',
      { folders: 'refuse' },
      { kind: 'refused', message: 'fs/copy requires recursive: true when sourcePath is a directory' },
    ],
    [
      'a folder into itself',
      'dir',
      'dir/in',
      {},
      { kind: 'refused', message: 'fs/copy cannot copy a directory to itself or one of its descendants' },
    ],
    [
      'a folder deep into itself, by a link',
      'dir',
      'link/x/y',
      {},
      { kind: 'refused', message: 'fs/copy cannot copy a directory to itself or one of its descendants' },
    ],
    [
      'a folder to itself',
      'dir',
      'dir',
      {},
      { kind: 'refused', message: 'fs/copy cannot copy a directory to itself or one of its descendants' },
    ],
    ['a FIFO', 'fifo', 'new', {}, { kind: 'refused', message: 'fs/copy only supports regular files, directories, and symlinks' }],
    ['what is missing', 'none', 'new', {}, { kind: 'notFound' }],
    ['to a folder that is missing', 'file', 'none/new', {}, { kind: 'notFound' }],
    ['a file to itself', 'file', 'file', {}, { kind: 'refused' }],
    ['a file to a FIFO', 'file', 'fifo', {}, { kind: 'refused' }],
    ['a file over another, if that is refused', 'file', 'other', { existing: 'refuse' }, { kind: 'failed', errno: 'EEXIST' }],
  ] as const) {
    test(`fails for ${what}`, async () => {
      using scratch = new Scratch({ 'dir/x': '', link: { link: 'dir' }, file: 'text', other: 'other' });
      execFileSync('mkfifo', [scratch.at('fifo')]);
      await assert.rejects(copy(paths, { ...plain, ...options, from: scratch.at(from), to: scratch.at(to) }), expected);
      assert.deepEqual([scratch.text('file'), scratch.text('other'), existsSync(scratch.at('new'))], ['text', 'other', false]);
    });
  }

  test('follows a link to a file at its destination', async () => {
    using scratch = new Scratch({ from: 'text', to: '', link: { link: 'to' } });
    await copy(paths, { ...plain, from: scratch.at('from'), to: scratch.at('link') });
    assert.deepEqual([scratch.text('to'), readlinkSync(scratch.at('link'))], ['text', 'to']);
  });
});

describe('moving', () => {
  test('renames files, links and folders', async () => {
    using scratch = new Scratch({ file: 'text', 'folder/x': '', link: { link: 'nowhere' } });
    for (const name of ['file', 'folder', 'link']) {
      assert.deepEqual(await move(paths, { from: scratch.at(name), to: scratch.at(`${name}2`), existing: 'refuse' }), {
        how: 'renamed',
      });
    }
    assert.deepEqual(
      treeOf(scratch.path).map((line) => line.split(' ')[0]),
      ['file2', 'folder2', 'folder2/x', 'link2'],
    );
  });

  test('replaces what exists only if told so', async () => {
    using scratch = new Scratch({ from: 'new', to: 'old' });
    const both = { from: scratch.at('from'), to: scratch.at('to') };
    await assert.rejects(move(paths, { ...both, existing: 'refuse' }), { kind: 'failed', errno: 'EEXIST' });
    assert.equal(scratch.text('to'), 'old');
    await move(paths, { ...both, existing: 'replace' });
    assert.equal(scratch.text('to'), 'new');
  });

  test('fails for what is missing, and for a folder into itself', async () => {
    using scratch = new Scratch({ 'folder/x': '' });
    const missing = move(paths, { from: scratch.at('none'), to: scratch.at('new'), existing: 'refuse' });
    await assert.rejects(missing, {
      kind: 'notFound',
      message: `ENOENT: no such file or directory, rename "${scratch.at('none')}" to "${scratch.at('new')}"`,
    });
    await assert.rejects(move(paths, { from: scratch.at('folder'), to: scratch.at('folder/in'), existing: 'refuse' }), {
      kind: 'refused',
    });
  });

  const isElsewhere = existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync('/tmp').dev;
  describe('to another file system', { skip: !isElsewhere && '/dev/shm is not a file system of its own' }, () => {
    test('copies with modes and times, and removes the source', async () => {
      using scratch = new Scratch({ 'from/a/b': 'b', 'from/link': { link: 'a/b' } });
      using elsewhere = new Scratch({}, '/dev/shm');
      execFileSync('chmod', ['640', scratch.at('from/a/b')]);
      utimesSync(scratch.at('from/a/b'), 1, 1_234);
      const before = treeOf(scratch.at('from'));
      assert.deepEqual(await move(paths, { from: scratch.at('from'), to: elsewhere.at('to'), existing: 'refuse' }), {
        how: 'copied',
      });
      assert.deepEqual(treeOf(elsewhere.at('to')), before);
      assert.equal(lstatSync(elsewhere.at('to/a/b')).mtimeMs, 1_234_000);
      assert.deepEqual([existsSync(scratch.at('from')), treeOf(elsewhere.path).length], [false, before.length + 1]);
    });

    test('leaves everything as it was when something cannot be copied, or the name is taken', async () => {
      using scratch = new Scratch({ 'from/a': 'a', file: 'text' });
      using elsewhere = new Scratch({ taken: 'old' }, '/dev/shm');
      execFileSync('mkfifo', [scratch.at('from/fifo')]);
      await assert.rejects(move(paths, { from: scratch.at('from'), to: elsewhere.at('to'), existing: 'refuse' }), {
        kind: 'refused',
      });
      await assert.rejects(move(paths, { from: scratch.at('file'), to: elsewhere.at('taken'), existing: 'refuse' }), {
        errno: 'EEXIST',
      });
      assert.deepEqual(
        treeOf(elsewhere.path).map((line) => line.split(' ').at(-1)),
        ['old'],
      );
      assert.equal(readFileSync(scratch.at('from/a'), 'utf8'), 'a');
      await move(paths, { from: scratch.at('file'), to: elsewhere.at('taken'), existing: 'replace' });
      assert.equal(elsewhere.text('taken'), 'text');
    });
  });
});
