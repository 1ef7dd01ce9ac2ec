// What a watch reports, found by notices from the kernel and by polling.

import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, test } from 'node:test';
import { systemClock } from '#src/base/clock.js';
import { FileError } from '#src/files/file-error.js';
import { FileWatches } from '#src/files/watch/file-watches.js';
import { InotifyNotices } from '#src/files/watch/inotify-notices.js';
import { type Inotify, loadInotify } from '#src/files/watch/inotify.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { WatchedFolder } from '../support/watched-folder.js';

const inotify = loadInotify();
const withoutInotify = inotify === undefined ? { skip: 'inotify cannot be called on this machine' } : {};

guardAgainstLeaks();

for (const notices of ['inotify', 'polling'] as const) {
  describe(`with notices by ${notices}`, notices === 'inotify' ? withoutInotify : {}, () => {
    test('a file is reported when it is created, changed and removed', async () => {
      await using watched = await WatchedFolder.open({ notices });
      watched.write('file');
      assert.deepEqual(await watched.changes(), ['created file']);
      watched.write('file', 'longer than before');
      assert.deepEqual(await watched.changes(), ['changed file']);
      unlinkSync(watched.path('file'));
      assert.deepEqual(await watched.changes(), ['removed file']);
    });

    test('what is in a new folder is reported with it, and what happens in it later as well', async () => {
      await using watched = await WatchedFolder.open({ notices });
      watched.write('a/b/c/file');
      assert.deepEqual(await watched.changes(), ['created a', 'created a/b', 'created a/b/c', 'created a/b/c/file']);
      watched.write('a/b/c/file', 'more than before');
      watched.write('a/b/new');
      assert.deepEqual((await watched.changes())?.toSorted(), ['changed a/b/c/file', 'created a/b/new']);
    });

    test('a removed folder is reported after everything that was in it', async () => {
      await using watched = await WatchedFolder.open({ notices, files: ['a/b/file'] });
      rmSync(watched.path('a'), { recursive: true });
      assert.deepEqual(await watched.changes(), ['removed a/b/file', 'removed a/b', 'removed a']);
    });

    test('a folder moved in is reported as created, and one moved out as removed and no longer watched', async () => {
      await using watched = await WatchedFolder.open({ notices, watched: 'in', files: ['in/', 'out/a/file'] });
      renameSync(watched.path('out/a'), watched.path('in/a'));
      assert.deepEqual(await watched.changes(), ['created in/a', 'created in/a/file']);
      renameSync(watched.path('in/a'), watched.path('out/a'));
      assert.deepEqual(await watched.changes(), ['removed in/a/file', 'removed in/a']);
      watched.write('out/a/later');
      watched.write('in/end');
      assert.deepEqual(await watched.changes(), ['created in/end']);
      assert.equal(watched.watch.folders, 1);
    });

    test('a file that is created and removed between two reads is not reported', async () => {
      await using watched = await WatchedFolder.open({ notices });
      watched.write('brief');
      unlinkSync(watched.path('brief'));
      watched.write('end');
      assert.deepEqual(await watched.changes(), ['created end']);
    });

    test('a file that is created and written several times is reported once', async () => {
      await using watched = await WatchedFolder.open({ notices });
      for (const content of ['1', '12', '123']) watched.write('file', content);
      assert.deepEqual(await watched.changes(), ['created file']);
      for (const content of ['1234', '12345']) watched.write('file', content);
      assert.deepEqual(await watched.changes(), ['changed file']);
    });

    test('a file replaced by another is changed, and one replaced by a folder is removed and created', async () => {
      await using watched = await WatchedFolder.open({ notices, files: ['file'] });
      watched.write('temporary', 'the new content');
      renameSync(watched.path('temporary'), watched.path('file'));
      assert.deepEqual(await watched.changes(), ['changed file']);
      unlinkSync(watched.path('file'));
      watched.write('file/inside');
      assert.deepEqual(await watched.changes(), ['removed file', 'created file', 'created file/inside']);
    });

    test('changed permissions are a change, of files and of folders', async () => {
      await using watched = await WatchedFolder.open({ notices, files: ['file', 'folder/'] });
      chmodSync(watched.path('file'), 0o600);
      chmodSync(watched.path('folder'), 0o700);
      assert.deepEqual((await watched.changes())?.toSorted(), ['changed file', 'changed folder']);
    });

    test('names that are not UTF-8 are reported byte by byte', async () => {
      await using watched = await WatchedFolder.open({ notices });
      const folder = Buffer.concat([Buffer.from(`${watched.folder}/`), Buffer.from([0xff, 0xfe])]);
      mkdirSync(folder);
      writeFileSync(Buffer.concat([folder, Buffer.from('/\u00e9', 'latin1')]), '');
      assert.deepEqual(await watched.changes(), ['created \u00ff\u00fe', 'created \u00ff\u00fe/\u00e9']);
    });

    test('a link is reported as such and not followed', async () => {
      await using watched = await WatchedFolder.open({ notices, watched: 'in', files: ['in/', 'out/file'] });
      symlinkSync(watched.path('out'), watched.path('in/link'));
      assert.deepEqual(await watched.changes(), ['created in/link']);
      watched.write('out/file', 'changed behind the link');
      watched.write('in/end');
      assert.deepEqual(await watched.changes(), ['created in/end']);
    });

    test('a watch that is not recursive reports only what is directly in the folder', async () => {
      await using watched = await WatchedFolder.open({ notices, recursive: 'no', files: ['a/'] });
      watched.write('a/inside');
      watched.write('b/inside');
      assert.deepEqual(await watched.changes(), ['created b']);
      assert.equal(watched.watch.folders, 1);
    });

    test('the watched folder is reported when it is removed, and the watch ends', async () => {
      await using watched = await WatchedFolder.open({ notices, watched: 'in', files: ['in/a/file'] });
      rmSync(watched.path('in'), { recursive: true });
      assert.deepEqual(await watched.changes(), ['removed in']);
      assert.equal(await watched.changes(), undefined);
    });

    test('the watched folder is reported as removed when another takes its place', async () => {
      await using watched = await WatchedFolder.open({ notices, watched: 'in', files: ['in/', 'other/file'] });
      renameSync(watched.path('in'), watched.path('out'));
      renameSync(watched.path('other'), watched.path('in'));
      assert.deepEqual(await watched.changes(), ['removed in']);
      assert.equal(await watched.changes(), undefined);
    });

    test('a watched file may be replaced; its removal ends the watch', async () => {
      await using watched = await WatchedFolder.open({ notices, watched: 'file', files: ['file', 'other'] });
      watched.write('other', 'not watched');
      watched.write('file', 'written in place');
      assert.deepEqual(await watched.changes(), ['changed file']);
      renameSync(watched.path('other'), watched.path('file'));
      assert.deepEqual(await watched.changes(), ['changed file']);
      unlinkSync(watched.path('file'));
      assert.deepEqual(await watched.changes(), ['removed file']);
      assert.equal(await watched.changes(), undefined);
    });

    test('a link to what is watched is followed, and changes have the path that was given', async () => {
      await using watched = await WatchedFolder.open({ notices, files: ['real/file'] });
      symlinkSync('real', watched.path('folder'));
      symlinkSync('real/file', watched.path('link'));
      for (const [link, expected] of [
        ['folder', 'folder/file'],
        ['link', 'link'],
      ] as const) {
        const { promise, watch } = await nextOf(watched, link);
        watched.write('real/file', `changed for ${link}`);
        await watched.changes();
        assert.deepEqual(await promise, {
          changes: [{ kind: 'changed', path: Buffer.from(watched.path(expected)) }],
          overflow: false,
        });
        watch.close();
      }
    });

    test('unread notices beyond the limit are said to have overflowed, and the state that follows is right', async () => {
      await using watched = await WatchedFolder.open({ notices, limits: { noticedNames: 3 }, files: ['a', 'b/c'] });
      renameSync(watched.path('a'), watched.path('b/a'));
      for (const name of ['1', '2', '3']) watched.write(name);
      const changes = await watched.changes();
      const overflow = notices === 'inotify' ? ['overflow'] : [];
      assert.deepEqual(
        changes?.toSorted(),
        ['created 1', 'created 2', 'created 3', 'created b/a', ...overflow, 'removed a'].toSorted(),
      );
    });

    test('many changes are delivered in batches', async () => {
      await using watched = await WatchedFolder.open({ notices, limits: { changesPerBatch: 2 } });
      for (const name of ['1', '2', '3', '4', '5']) watched.write(name);
      const batches = [await watched.changes(), await watched.changes(), await watched.changes()];
      assert.deepEqual(
        batches.map((batch) => batch?.length),
        [2, 2, 1],
      );
      assert.deepEqual(batches.flatMap((batch) => batch ?? []).toSorted(), [
        'created 1',
        'created 2',
        'created 3',
        'created 4',
        'created 5',
      ]);
    });

    test('a tree that is too large is refused, and one that grows too large ends its watch', async () => {
      await assert.rejects(WatchedFolder.open({ notices, limits: { folders: 2 }, files: ['a/b/c/'] }), (error) => {
        assert.ok(error instanceof FileError && error.kind === 'refused');
        assert.match(
          error.message,
          /^".*" has more than 2 folders, which is the most that one watch covers; watch a part of it$/,
        );
        return true;
      });
      await using watched = await WatchedFolder.open({ notices, limits: { entries: 2 }, files: ['a'] });
      for (const name of ['b', 'c']) watched.write(name);
      await assert.rejects(watched.changes(), { name: 'FileError', message: /has more than 2 entries/ });
      assert.equal(await watched.changes(), undefined);
      assert.deepEqual(watched.watches.figures, { watches: 0, folders: 0 });
    });

    test('closing ends a pending read, and a watch that has just noticed something', async () => {
      await using watched = await WatchedFolder.open({ notices });
      const pending = watched.watch.next();
      watched.write('file');
      watched.watch.close();
      assert.equal(await pending, undefined);
      assert.equal(await watched.changes(), undefined);
    });

    test('closing at any moment leaves nothing behind', async () => {
      await using watched = await WatchedFolder.open({ notices, files: ['a/b/c/d', 'a/e/f', 'g/h/i'] });
      for (let turns = 0; turns < 120; turns += 4) {
        const { promise, watch } = await nextOf(watched, '.');
        watched.write('new/x/y');
        for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        watch.close();
        await promise;
        rmSync(watched.path('new'), { recursive: true });
      }
      assert.deepEqual(watched.watches.figures.watches, 1);
    });
  });
}

test('a path that does not exist is refused with its name', async () => {
  const watches = new FileWatches({ clock: systemClock });
  await assert.rejects(watches.watch({ path: '/does/not/exist', recursive: 'yes' }), {
    name: 'FileError',
    kind: 'notFound',
    message: 'ENOENT: no such file or directory, stat "/does/not/exist"',
  });
});

test('a path outside, whether or not it exists, is refused as if it did not exist', async () => {
  const watches = new FileWatches({ clock: systemClock });
  for (const path of ['/etc', '/etc/passwd', '/does/not/exist']) {
    const message = `ENOENT: no such file or directory, "${path}"`;
    await assert.rejects(watches.watch({ path, recursive: 'no', isInside: () => false }), { kind: 'notFound', message });
  }
});

test('a folder that may not be watched is left out', async () => {
  const path = (name: string): Buffer => Buffer.from(watched.path(name));
  const isInside = (realPath: Buffer): boolean => !realPath.equals(path('secret'));
  await using watched = await WatchedFolder.open({ files: ['secret/file', 'open/file'] });
  using watch = closing(await watched.watches.watch({ path: path('.'), recursive: 'yes', isInside }));
  watched.write('secret/new');
  watched.write('open/new');
  assert.deepEqual(await watch.next(), { changes: [{ kind: 'created', path: path('open/new') }], overflow: false });
});

describe('only with notices from the kernel', withoutInotify, () => {
  test('a moved file is reported as moved, also when it is written at the same time', async () => {
    await using watched = await WatchedFolder.open({ files: ['a/file', 'b/'] });
    renameSync(watched.path('a/file'), watched.path('b/renamed'));
    assert.deepEqual(await watched.changes(), ['moved a/file -> b/renamed']);
    renameSync(watched.path('b/renamed'), watched.path('file'));
    watched.write('file', 'and written');
    assert.deepEqual(await watched.changes(), ['moved b/renamed -> file', 'changed file']);
  });

  test('a moved folder keeps being watched, under its new path', async () => {
    await using watched = await WatchedFolder.open({ files: ['a/b/file', 'c/'] });
    renameSync(watched.path('a/b'), watched.path('c/d'));
    watched.write('c/d/at-once');
    assert.deepEqual((await watched.changes())?.toSorted(), ['created c/d/at-once', 'moved a/b -> c/d']);
    renameSync(watched.path('c'), watched.path('e'));
    renameSync(watched.path('e/d/file'), watched.path('file'));
    assert.deepEqual((await watched.changes())?.toSorted(), ['moved c -> e', 'moved e/d/file -> file']);
    watched.write('e/d/later');
    assert.deepEqual(await watched.changes(), ['created e/d/later']);
    assert.equal(watched.watch.folders, 4);
  });

  test('a rotation of names is reported in an order in which it can be repeated', async () => {
    await using watched = await WatchedFolder.open({ files: ['log', 'log.1'] });
    renameSync(watched.path('log.1'), watched.path('log.2'));
    renameSync(watched.path('log'), watched.path('log.1'));
    watched.write('log');
    assert.deepEqual(await watched.changes(), ['moved log.1 -> log.2', 'moved log -> log.1', 'created log']);
  });

  test('two exchanged names are reported as changed', async () => {
    await using watched = await WatchedFolder.open({ files: ['one', 'two'] });
    renameSync(watched.path('one'), watched.path('three'));
    renameSync(watched.path('two'), watched.path('one'));
    renameSync(watched.path('three'), watched.path('two'));
    assert.deepEqual((await watched.changes())?.toSorted(), ['changed one', 'changed two']);
  });

  test('a folder that is removed and created again is still watched', async () => {
    await using watched = await WatchedFolder.open({ files: ['a/file'] });
    rmSync(watched.path('a'), { recursive: true });
    watched.write('a/other');
    const changes = await watched.changes();
    assert.equal(changes?.includes('removed a/file') && changes.includes('created a/other'), true);
    watched.write('a/later');
    assert.deepEqual(await watched.changes(), ['created a/later']);
  });

  test('a watched folder that is removed and created again at once is reported as removed, and the watch ends', async () => {
    await using watched = await WatchedFolder.open({ watched: 'in', files: ['in/'] });
    rmSync(watched.path('in'), { recursive: true });
    watched.write('in/file');
    assert.deepEqual(await watched.changes(), ['removed in']);
    assert.equal(await watched.changes(), undefined);
  });

  test('a thousand watches share one descriptor', async () => {
    await using watched = await WatchedFolder.open({ files: ['a/file'] });
    const path = Buffer.from(watched.folder);
    const open = await Promise.all(Array.from({ length: 1_000 }, async () => watched.watches.watch({ path, recursive: 'yes' })));
    assert.deepEqual(watched.watches.figures, { watches: 1_001, folders: 2_002 });
    assert.equal(inotifyDescriptors(), 1);
    const reads = open.map(async (watch) => watch.next());
    watched.write('a/new');
    const created = { changes: [{ kind: 'created', path: Buffer.from(watched.path('a/new')) }], overflow: false };
    for (const read of reads) assert.deepEqual(await read, created);
    for (const watch of open) watch.close();
    assert.equal(inotifyDescriptors(), 1);
    watched.watch.close();
    assert.equal(inotifyDescriptors(), 0);
  });

  test('too few watches in the kernel are an error that names the setting', async () => {
    await using watched = await WatchedFolder.open({ files: ['a/b/c/', 'd/'] });
    const watches = new FileWatches({ clock: systemClock, notices: new InotifyNotices(withWatches(3), systemClock) });
    await assert.rejects(watches.watch({ path: watched.folder, recursive: 'yes' }), {
      name: 'FileError',
      errno: 'ENOSPC',
      message: /^ENOSPC: this user watches as many folders as the kernel allows; raise the sysctl fs\.inotify\.max_user_watches/,
    });
    using watch = closing(await watches.watch({ path: Buffer.from(watched.path('a')), recursive: 'yes' }));
    const next = watch.next();
    watched.write('a/b/new/');
    await assert.rejects(next, { errno: 'ENOSPC' });
    assert.equal(await watch.next(), undefined);
    assert.deepEqual(watches.figures, { watches: 0, folders: 0 });
  });
});

/** inotify with room for this many watches. */
function withWatches(room: number): Inotify {
  assert.ok(inotify !== undefined);
  let used = 0;
  let isFull = false;
  return {
    ...inotify,
    inotify_add_watch: (...parameters) => {
      isFull = used === room;
      if (isFull) return -1;
      used += 1;
      return inotify.inotify_add_watch(...parameters);
    },
    inotify_rm_watch: (...parameters) => {
      used -= 1;
      return inotify.inotify_rm_watch(...parameters);
    },
    errno: () => (isFull ? 'ENOSPC' : inotify.errno()),
  };
}

function inotifyDescriptors(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:inotify';
    } catch {
      return false; // the descriptor that lists the descriptors
    }
  }).length;
}

/** Another watch in the folder, already being read. */
async function nextOf(watched: WatchedFolder, name: string) {
  const watch = await watched.watches.watch({ path: Buffer.from(watched.path(name)), recursive: 'yes' });
  return { watch, promise: watch.next() };
}

function closing<T extends { close(): void }>(watch: T): T & Disposable {
  return Object.assign(watch, { [Symbol.dispose]: () => watch.close() });
}
