// What a confined server serves, besides what it refuses (see escape.test.ts).

import assert from 'node:assert/strict';
import { symlinkSync, unlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  FileError,
  Paths,
  type PathsOptions,
  canonicalise,
  listFolder,
  metadata,
  readDirectory,
  remove,
} from '#src/files/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { type Contents, Scratch } from '../support/scratch.js';
import { operations, textOf } from './operations.js';

guardAgainstLeaks();

/** Paths on a fresh folder; a root is named relative to it. */
class Confined implements Disposable {
  readonly scratch: Scratch;
  readonly paths: Paths;

  constructor(contents: Contents, { roots = ['root'], ...options }: PathsOptions = {}) {
    this.scratch = new Scratch(contents);
    this.paths = Paths.open({ roots: roots.map((root) => this.scratch.at(root)), ...options });
  }

  async text(path: string): Promise<string> {
    return textOf(this.paths, this.scratch.at(path));
  }

  [Symbol.dispose](): void {
    this.paths.close();
    this.scratch[Symbol.dispose]();
  }
}

for (const openat2 of ['use', 'avoid'] as const) {
  describe(`a server with roots, ${openat2 === 'use' ? 'with openat2' : 'by descent'}`, () => {
    test('serves what is below them', async () => {
      using confined = new Confined({ 'root/a/b.txt': 'b' }, { openat2 });
      assert.equal(await confined.text('root/a/b.txt'), 'b');
      assert.equal(await confined.text('root/a/../a/./b.txt'), 'b');
    });

    for (const [how, target] of Object.entries({
      'a relative link': 'a',
      'a link with ".."': 'a/../a/../a',
      'a link that leaves the root and returns': '../root/a',
      'a chain of links': 'second',
    })) {
      test(`follows ${how} that leads to a place below them`, async () => {
        using confined = new Confined(
          { 'root/a/b.txt': 'b', 'root/way': { link: target }, 'root/second': { link: './third' }, 'root/third': { link: 'a/' } },
          { openat2 },
        );
        assert.equal(await confined.text('root/way/b.txt'), 'b');
        assert.equal(
          await canonicalise(confined.paths, confined.scratch.at('root/way/b.txt')),
          confined.scratch.at('root/a/b.txt'),
        );
      });
    }

    test('follows absolute links that lead to a place below them', async () => {
      using confined = new Confined({ 'root/a/b.txt': 'b' }, { openat2 });
      confined.scratch.add({
        'root/way': { link: confined.scratch.at('root/a') },
        'root/last': { link: confined.scratch.at('root/a/b.txt') },
      });
      assert.equal(await confined.text('root/way/b.txt'), 'b');
      assert.equal(await confined.text('root/last'), 'b');
    });

    test('follows links from one root to another', async () => {
      using confined = new Confined(
        { 'one/way': { link: '../two/sub' }, 'two/sub/b.txt': 'b' },
        { openat2, roots: ['one', 'two'] },
      );
      assert.equal(await confined.text('one/way/b.txt'), 'b');
    });

    test('resolves ".." in a link from where the link leads, not from its text', async () => {
      using confined = new Confined(
        {
          'root/a/deep/x': '',
          'root/a/b.txt': 'right',
          'root/b.txt': 'wrong',
          'root/short': { link: 'a/deep' },
          'root/way': { link: 'short/../b.txt' },
        },
        { openat2 },
      );
      assert.equal(await confined.text('root/way'), 'right');
    });

    test('serves a root that is a link, by either name, and keeps it when the link is changed', async () => {
      using confined = new Confined(
        { 'real/b.txt': 'b', 'other/b.txt': 'other', named: { link: 'real' } },
        { openat2, roots: ['named'] },
      );
      assert.equal(await confined.text('named/b.txt'), 'b');
      assert.equal(await confined.text('real/b.txt'), 'b');
      assert.deepEqual(confined.paths.roots, [confined.scratch.at('real')]);
      unlinkSync(confined.scratch.at('named'));
      symlinkSync('other', confined.scratch.at('named'));
      assert.equal(await confined.text('named/b.txt'), 'b');
    });

    test('serves a root inside another one', async () => {
      using confined = new Confined({ 'root/inner/b.txt': 'b' }, { openat2, roots: ['root', 'root/inner'] });
      assert.equal(await confined.text('root/inner/b.txt'), 'b');
    });

    test('answers the same whether or not a place outside exists', async () => {
      using confined = new Confined(
        { 'outside/there': '', 'root/a': { link: '../outside/there' }, 'root/b': { link: '../outside/gone' } },
        { openat2 },
      );
      const texts = await Promise.all(
        ['root/a', 'root/b', 'outside/there', 'outside/gone'].map(async (path) =>
          confined.text(path).catch((error: unknown) => String(error).replaceAll(confined.scratch.path, '')),
        ),
      );
      assert.deepEqual(texts, [
        'FileError: "/root/a" leads outside the folders this server serves',
        'FileError: "/root/b" leads outside the folders this server serves',
        'FileError: "/outside/there" is outside the folders this server serves',
        'FileError: "/outside/gone" is outside the folders this server serves',
      ]);
    });

    test('reports a loop of links, a missing folder and a file on the way as the kernel does', async () => {
      using confined = new Confined({ 'root/loop': { link: 'loop' }, 'root/file': '' }, { openat2 });
      for (const [path, errno] of [
        ['root/loop', 'ELOOP'],
        ['root/loop/x', 'ELOOP'],
        ['root/none/x', 'ENOENT'],
        ['root/file/x', 'ENOTDIR'],
      ] as const) {
        await assert.rejects(confined.text(path), { errno });
      }
    });

    test('serves a root itself, but does not remove it', async () => {
      using confined = new Confined({ 'root/b.txt': 'b' }, { openat2 });
      const root = confined.scratch.at('root');
      assert.equal((await metadata(confined.paths, root, { links: 'follow' })).kind, 'directory');
      assert.equal((await listFolder(confined.paths, root, { limit: 10 })).entries.length, 1);
      assert.equal(await canonicalise(confined.paths, root), root);
      for (const contents of ['remove', 'refuse'] as const) {
        await assert.rejects(remove(confined.paths, root, { contents, absent: 'accept', links: 'follow' }), { kind: 'refused' });
      }
      assert.equal(await confined.text('root/b.txt'), 'b');
    });

    test('leaves out of a listing what leads outside', async () => {
      using confined = new Confined({ 'outside/x': '', 'root/b.txt': 'b', 'root/way': { link: '../outside' } }, { openat2 });
      const entries = await readDirectory(confined.paths, confined.scratch.at('root'));
      assert.deepEqual(entries, [{ name: 'b.txt', kind: 'file', isLink: false }]);
    });

    test('finishes what is under way when it closes', async () => {
      using confined = new Confined({ 'root/b.txt': 'b' }, { openat2 });
      const reading = confined.text('root/b.txt');
      confined.paths.close();
      assert.equal(await reading, 'b');
      await assert.rejects(confined.text('root/b.txt'), { message: 'this server no longer serves files' });
    });
  });
}

describe('a server that serves files for reading only', () => {
  for (const [what, { kind, run }] of Object.entries(operations)) {
    test(kind === 'read' ? `may ${what}` : `refuses to ${what}`, async () => {
      for (const roots of [['root'], []]) {
        using confined = new Confined({ 'root/mine.txt': 'mine', 'root/tree/leaf': '' }, { roots, access: 'read' });
        const outcome = await run(confined.paths, confined.scratch.at('root/mine.txt'), confined.scratch.at('root')).catch(
          (error: unknown) => error,
        );
        const isRefused = outcome instanceof FileError && outcome.message === 'this server serves files for reading only';
        assert.equal(isRefused, kind === 'write' || what === 'copy from', String(outcome));
        assert.equal(confined.scratch.text('root/mine.txt'), 'mine');
      }
    });
  }
});

describe('a server that serves no files', () => {
  for (const [what, { run }] of Object.entries(operations)) {
    test(`refuses to ${what}`, async () => {
      using confined = new Confined({ 'root/mine.txt': 'mine' }, { access: 'none' });
      const path = confined.scratch.at('root/mine.txt');
      await assert.rejects(run(confined.paths, path, confined.scratch.at('root')), {
        kind: 'refused',
        message: 'this server does not serve files',
      });
    });
  }
});

describe('a server does not start', () => {
  for (const [why, root, message] of [
    ['a root that is missing', 'none', /^ENOENT: no such file or directory, .*"$/],
    ['a root that is a file', 'file', /^ENOTDIR: not a directory, open ".*\/file"$/],
  ] as const) {
    test(`with ${why}`, () => {
      using scratch = new Scratch({ file: '', root: {} });
      assert.throws(() => Paths.open({ roots: [scratch.at('root'), scratch.at(root)] }), { message });
    });
  }

  test('with a relative root', () => {
    assert.throws(() => Paths.open({ roots: ['src'] }), { message: 'a root must be an absolute path, got "src"' });
  });
});
