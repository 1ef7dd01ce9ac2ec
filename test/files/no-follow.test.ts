// Operations that refuse links on the whole way, as Codex asks for after a patch was approved: what the user saw is what is written.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type NativePath, OpenFile, Paths, makeDirectory, metadata, remove, writeInPlace } from '#src/files/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch, treeOf } from '../support/scratch.js';
import { textOf } from './operations.js';

guardAgainstLeaks();

const refuse = { links: 'refuse' } as const;

/** What each does with a path whose last component is a link. A link on the way is ENOTDIR for all of them. */
const operations: Readonly<Record<string, { onLink: object; run: (paths: Paths, path: NativePath) => Promise<unknown> }>> = {
  'reading a file': { onLink: { kind: 'failed', errno: 'ELOOP' }, run: async (paths, path) => textOf(paths, path, 'refuse') },
  'writing a file': {
    onLink: { kind: 'failed', errno: 'ELOOP' },
    run: async (paths, path) => writeInPlace(paths, path, { ...refuse, bytes: Buffer.from('written') }),
  },
  'opening a file': {
    onLink: { kind: 'failed', errno: 'ELOOP' },
    run: async (paths, path) => (await OpenFile.open(paths, path, { ...refuse, mode: 'read' })).close(),
  },
  'reading metadata': {
    onLink: { kind: 'refused', message: 'path contains a symbolic link' },
    run: async (paths, path) => metadata(paths, path, refuse),
  },
  removing: {
    onLink: { kind: 'refused', message: 'path contains a symbolic link' },
    run: async (paths, path) => remove(paths, path, { ...refuse, contents: 'refuse', absent: 'refuse' }),
  },
  'making a folder': {
    onLink: { kind: 'failed', errno: 'EEXIST' },
    run: async (paths, path) => makeDirectory(paths, path, { ...refuse, parents: 'make' }),
  },
};

for (const openat2 of ['use', 'avoid'] as const) {
  describe(`without following links, ${openat2 === 'use' ? 'with openat2' : 'by descent'}`, () => {
    const paths = Paths.open({ openat2 });
    after(() => paths.close());

    for (const [what, { onLink, run }] of Object.entries(operations)) {
      test(`${what} works where there are none`, async () => {
        using scratch = new Scratch({ 'folder/deep/file': 'text' });
        await run(paths, scratch.at(what === 'making a folder' ? 'folder/deep/new/er' : 'folder/deep/file'));
      });

      test(`${what} fails for a link, on the way and at the end`, async () => {
        using scratch = new Scratch({
          'folder/file': 'text',
          'folder/sub': {},
          way: { link: 'folder' },
          last: { link: 'folder/file' },
          broken: { link: 'nowhere' },
        });
        const earlier = treeOf(scratch.path);
        await assert.rejects(run(paths, scratch.at('way/file')), { kind: 'failed', errno: 'ENOTDIR' });
        await assert.rejects(run(paths, scratch.at('way/sub/file')), { kind: 'failed', errno: 'ENOTDIR' });
        for (const name of ['last', 'broken', 'way']) await assert.rejects(run(paths, scratch.at(name)), onLink);
        assert.deepEqual(treeOf(scratch.path), earlier);
      });

      test(`${what} takes only a normalized path`, async () => {
        using scratch = new Scratch({ 'folder/file': 'text' });
        for (const path of [
          `${scratch.path}/folder/../folder/file`,
          `${scratch.path}//folder/file`,
          `${scratch.path}/folder/file/`,
          'file',
        ]) {
          await assert.rejects(run(paths, path), { kind: 'refused', message: /must be absolute and normalized/ });
        }
      });
    }

    test('a missing file is not found, and a file on the way is ENOTDIR', async () => {
      using scratch = new Scratch({ file: '' });
      await assert.rejects(textOf(paths, scratch.at('none'), 'refuse'), { kind: 'notFound' });
      await assert.rejects(textOf(paths, scratch.at('none/x'), 'refuse'), { kind: 'notFound' });
      await assert.rejects(textOf(paths, scratch.at('file/x'), 'refuse'), { kind: 'failed', errno: 'ENOTDIR' });
    });

    test('a tree is not removed', async () => {
      using scratch = new Scratch({ 'tree/x': '' });
      await assert.rejects(remove(paths, scratch.at('tree'), { ...refuse, contents: 'remove', absent: 'accept' }), {
        kind: 'failed',
        message: 'recursive no-follow removal is unsupported',
      });
    });
  });
}
