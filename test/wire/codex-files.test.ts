// Codex's calls about whole files and folders: what each answers, including the odd cases, with the codes of Codex's own server.

import assert from 'node:assert/strict';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { CodexPlace, absent, failed, hello, invalid, refused } from './codex-place.js';

describe('a whole file', () => {
  guardAgainstLeaks();

  test('is read through links, and only if it is a regular file', async () => {
    await using place = await CodexPlace.open();
    const paths = ['file.txt', 'link', 'sp é%', 'nope', 'broken', 'loop', 'dir', 'fifo', 'file.txt/below'];
    const read = { dataBase64: hello };
    assert.deepEqual(await place.each('fs/readFile', paths), [
      read,
      read,
      { dataBase64: 'w6k=' },
      absent,
      absent,
      failed,
      refused,
      refused,
      failed,
    ]);
    assert.equal(await place.ask('fs/readFile', { path: 'file:///dev/zero' }), refused);
  });

  test('is not read through a link if links are refused', async () => {
    await using place = await CodexPlace.open();
    const paths = ['file.txt', 'link', 'linkdir/one.txt'];
    assert.deepEqual(await place.each('fs/readFile', paths, { followSymlinks: false }), [{ dataBase64: hello }, failed, failed]);
  });

  test('is written in place, also through a link that leads nowhere yet', async () => {
    await using place = await CodexPlace.open();
    const { ino } = statSync(place.at('file.txt'));
    assert.deepEqual(await place.each('fs/writeFile', ['file.txt', 'new', 'broken'], { dataBase64: 'eA==' }), [{}, {}, {}]);
    assert.equal(statSync(place.at('file.txt')).ino, ino);
    assert.deepEqual(
      ['file.txt', 'new', 'nowhere'].map((name) => readFileSync(place.at(name), 'utf8')),
      ['x', 'x', 'x'],
    );
  });

  test('is not written where that is impossible, and the reason decides the code', async () => {
    await using place = await CodexPlace.open();
    const data = { dataBase64: 'eA==' };
    assert.deepEqual(await place.each('fs/writeFile', ['no/parent', 'file.txt/below', 'dir', 'fifo'], data), [
      absent,
      failed,
      failed,
      refused,
    ]);
    assert.equal(await place.ask('fs/writeFile', { path: place.uri('link'), followSymlinks: false, ...data }), failed);
    assert.equal(await place.ask('fs/writeFile', { path: 'file:///dev/full', ...data }), failed);
  });

  test('must be sent as padded base64; malformed bytes change nothing', async () => {
    await using place = await CodexPlace.open();
    const path = place.uri('file.txt');
    const codes = [];
    for (const dataBase64 of ['***', 'eA', undefined]) codes.push(await place.ask('fs/writeFile', { path, dataBase64 }));
    assert.deepEqual(codes, [refused, refused, invalid]);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'hello\n');
  });

  test('of several megabytes travels in one message', async () => {
    await using place = await CodexPlace.open();
    const dataBase64 = Buffer.alloc(20 * 1024 * 1024, 'x').toString('base64');
    assert.deepEqual(await place.ask('fs/writeFile', { path: place.uri('large'), dataBase64 }), {});
    assert.deepEqual(await place.ask('fs/readFile', { path: place.uri('large') }), { dataBase64 });
  });

  test('that is missing is reported in the words that Codex’s client shows to models', async () => {
    await using place = await CodexPlace.open();
    assert.equal(await place.text('fs/readFile', { path: place.uri('nope') }), 'No such file or directory (os error 2)');
  });
});

describe('a path', () => {
  guardAgainstLeaks();

  test('is a file: URI of this machine', async () => {
    await using place = await CodexPlace.open();
    const good = place.uri('file.txt');
    const uris = [
      good.replace('file://', 'file://localhost'),
      good.replace('/file.txt', '/dir/../file.txt'),
      `${good}/`,
      place.at('file.txt'),
      'file.txt',
      good.replace('file:', 'http:'),
      good.replace('file://', 'file://host'),
      'file:///C:/x',
      `${good}?x`,
    ];
    const answers = [];
    for (const path of uris) answers.push(await place.ask('fs/readFile', { path }));
    const read = { dataBase64: hello };
    assert.deepEqual(answers, [read, read, read, invalid, invalid, invalid, refused, refused, invalid]);
  });
});

describe('a description', () => {
  guardAgainstLeaks();

  test('is about the target of a link, and says that there is a link', async () => {
    await using place = await CodexPlace.open();
    const kinds = (await place.each('fs/getMetadata', ['file.txt', 'dir', 'dir/', 'link', 'linkdir', 'fifo'])).map((answer) => {
      const { isDirectory, isFile, isSymlink } = answer as Record<string, boolean>;
      return Object.entries({ isDirectory, isFile, isSymlink }).flatMap(([name, is]) => (is === true ? [name] : []));
    });
    assert.deepEqual(kinds, [
      ['isFile'],
      ['isDirectory'],
      ['isDirectory'],
      ['isFile', 'isSymlink'],
      ['isDirectory', 'isSymlink'],
      [],
    ]);
    assert.deepEqual(await place.each('fs/getMetadata', ['broken', 'nope', 'file.txt/below']), [absent, absent, failed]);
    assert.deepEqual(await place.each('fs/getMetadata', ['link'], { followSymlinks: false }), [refused]);
  });

  test('has the size, and the times in whole milliseconds', async () => {
    await using place = await CodexPlace.open();
    const [answer] = await place.each('fs/getMetadata', ['file.txt']);
    const { size, modifiedAtMs } = answer as Record<string, number>;
    assert.deepEqual([size, modifiedAtMs], [6, Math.trunc(statSync(place.at('file.txt')).mtimeMs)]);
  });

  test('of the real path needs every part of it', async () => {
    await using place = await CodexPlace.open();
    assert.deepEqual(await place.each('fs/canonicalize', ['linkdir/lsub', 'nope']), [{ path: 'file:///R/dir/sub' }, absent]);
  });
});

describe('a folder', () => {
  guardAgainstLeaks();

  test('is made with its parents unless only one is wanted', async () => {
    await using place = await CodexPlace.open();
    assert.deepEqual(await place.each('fs/createDirectory', ['new/a/b', 'new/a/b', 'file.txt']), [{}, {}, failed]);
    assert.deepEqual(await place.each('fs/createDirectory', ['new', 'x/y', 'z'], { recursive: false }), [failed, absent, {}]);
  });

  test('lists what its entries lead to, without links that lead nowhere', async () => {
    await using place = await CodexPlace.open();
    const answer = (await place.ask('fs/readDirectory', { path: place.uri('dir') })) as { entries: { fileName: string }[] };
    assert.deepEqual(
      answer.entries.toSorted((one, other) => (one.fileName < other.fileName ? -1 : 1)),
      [
        { fileName: 'fifo', isDirectory: false, isFile: false },
        { fileName: 'lone', isDirectory: false, isFile: true },
        { fileName: 'lsub', isDirectory: true, isFile: false },
        { fileName: 'one.txt', isDirectory: false, isFile: true },
        { fileName: 'sub', isDirectory: true, isFile: false },
      ],
    );
    assert.deepEqual(await place.each('fs/readDirectory', ['nope', 'file.txt']), [absent, failed]);
  });

  test('is walked breadth first within limits', async () => {
    await using place = await CodexPlace.open();
    const wide = { maxDepth: 6, maxDirectories: 2_000, maxEntries: 20_000, followDirectorySymlinks: true };
    const walk = async (name: string, change: object = {}) => {
      const answer = await place.ask('fs/walk', { path: place.uri(name), options: { ...wide, ...change } });
      if (typeof answer === 'number') return answer;
      const { entries, truncated } = answer as { entries: { path: string }[]; truncated: boolean };
      return [...entries.map(({ path }) => path.replace(`file:///R/${name}/`, '')), ...(truncated ? ['…'] : [])];
    };
    assert.deepEqual(await walk('dir'), ['lsub', 'one.txt', 'sub', 'lsub/two.txt']);
    assert.deepEqual(await walk('dir', { followDirectorySymlinks: false }), ['one.txt', 'sub', 'sub/two.txt']);
    assert.deepEqual(await walk('full', { maxDepth: 1 }), ['a', 'a/b']);
    assert.deepEqual(await walk('full', { maxEntries: 1 }), ['a', '…']);
    assert.deepEqual(await walk('full', { maxDirectories: 1 }), ['a', '…']);
    assert.deepEqual([await walk('file.txt'), await walk('nope')], [[], absent]);
    assert.deepEqual([await walk('full', { maxDepth: 65 }), await walk('full', { maxEntries: 0 })], [refused, refused]);
  });

  test('is removed with its contents unless it must be empty; a link is removed, not its target', async () => {
    await using place = await CodexPlace.open();
    assert.deepEqual(await place.each('fs/remove', ['linkdir', 'full', 'nope']), [{}, {}, {}]);
    assert.equal(statSync(place.at('dir')).isDirectory(), true);
    const careful = { recursive: false, force: false };
    assert.deepEqual(await place.each('fs/remove', ['dir', 'nope', 'file.txt'], careful), [failed, absent, {}]);
    assert.deepEqual(await place.each('fs/remove', ['link'], { ...careful, followSymlinks: false }), [refused]);
    assert.deepEqual(await place.each('fs/remove', ['dir'], { followSymlinks: false }), [failed]);
  });

  test('is copied only if asked for, and never into itself', async () => {
    await using place = await CodexPlace.open();
    const copy = async (from: string, to: string, recursive = true) =>
      place.ask('fs/copy', { sourcePath: place.uri(from), destinationPath: place.uri(to), recursive });
    assert.deepEqual(
      [await copy('dir', 'd2', false), await copy('dir', 'dir/sub/x'), await copy('dir', 'new/way/d2')],
      [refused, refused, {}],
    );
    assert.equal(readFileSync(place.at('new/way/d2/sub/two.txt'), 'utf8'), '22');
    assert.deepEqual([await copy('file.txt', 'sp é%'), await copy('link', 'l2'), await copy('fifo', 'f2')], [{}, {}, refused]);
    assert.equal(readlinkSync(place.at('l2')), 'file.txt');
    assert.deepEqual([await copy('nope', 'x'), await copy('file.txt', 'no/parent')], [absent, absent]);
  });

  test('cannot be copied onto the file that is copied, which stays as it is', async () => {
    await using place = await CodexPlace.open();
    const [sourcePath, destinationPath] = [place.uri('file.txt'), place.uri('link')];
    assert.equal(await place.ask('fs/copy', { sourcePath, destinationPath, recursive: false }), refused);
    assert.equal(readFileSync(place.at('file.txt'), 'utf8'), 'hello\n');
  });
});
