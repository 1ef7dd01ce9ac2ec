// Whatever happens, and however fast, the reported changes lead from one state of the disk to the next.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { loadInotify } from '#src/files/watch/inotify.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Random } from '../support/random.js';
import { operate } from '../support/tree-operations.js';
import { WatchModel } from '../support/watch-model.js';
import { WatchedFolder } from '../support/watched-folder.js';

/** Failing seeds are added here, so that they stay tested. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const operationsPerSeed = 400;

const withoutInotify = loadInotify() === undefined ? { skip: 'inotify cannot be called on this machine' } : {};

guardAgainstLeaks();

describe('a model built from the changes equals the disk', withoutInotify, () => {
  for (const seed of seeds) {
    test(`after random operations while it is read, seed ${seed}`, async () => {
      await using watched = await WatchedFolder.open({ watched: 'in', files: ['in/', 'out/'] });
      const model = new WatchModel(watched.path('in'));
      const following = model.follow(watched.watch);
      const random = new Random(seed);
      for (let count = 0; count < operationsPerSeed; count += 1) {
        operate(watched.folder, random);
        if (random.chance(0.1)) await turns(random.size(300));
      }
      await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
      writeInEveryFolder(watched.path('in'));
      await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
      watched.watch.close();
      await following;
      assert.equal(model.overflows, 0);
    });
  }

  test('after random operations by another thread while it is read', async () => {
    await using watched = await WatchedFolder.open({ watched: 'in', files: ['in/', 'out/'] });
    const model = new WatchModel(watched.path('in'));
    const following = model.follow(watched.watch);
    const workerData = { root: watched.folder, seed: 1, operations: 3_000 };
    const worker = new Worker(new URL('../support/tree-operations.js', import.meta.url), { workerData });
    await Promise.race([following, once(worker, 'exit')]);
    await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
    writeInEveryFolder(watched.path('in'));
    await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
    watched.watch.close();
    await following;
  });

  test('after 30 000 files at once that the reader does not read', async () => {
    await using watched = await WatchedFolder.open({ files: ['0/', '1/', '2/'] });
    const model = new WatchModel(watched.folder);
    for (let count = 0; count < 30_000; count += 1) {
      writeFileSync(watched.path(`${count % 3}/${count}`), '');
      if (count % 500 === 0) await turns(1);
    }
    const following = model.follow(watched.watch);
    await Promise.race([following, eventually(() => assert.equal(model.size, 30_003))]);
    model.assertEqualsDisk();
    watched.watch.close();
    await following;
    assert.equal(model.overflows, 1);
  });

  test('after the queue of the kernel has overflowed', async () => {
    await using watched = await WatchedFolder.open({
      limits: { noticedNames: 1_000_000 },
      files: ['a/file', 'b/file', 'c/file'],
    });
    const model = new WatchModel(watched.folder);
    const queueLength = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
    // No event is read until these are done. They alternate, because the kernel merges equal ones.
    for (let count = 0; count <= queueLength; count += 1)
      utimesSync(watched.path(count % 2 === 0 ? 'a/file' : 'b/file'), count, count);
    watched.write('a/file', 'unnoticed');
    renameSync(watched.path('b'), watched.path('a/b'));
    rmSync(watched.path('c'), { recursive: true });
    watched.write('c/new');
    const following = model.follow(watched.watch);
    await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
    assert.equal(model.overflows, 1);
    watched.write('c/later');
    watched.write('a/b/later');
    await Promise.race([following, eventually(() => model.assertEqualsDisk())]);
    watched.watch.close();
    await following;
  });
});

/** Lets events be read, without waiting for any. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Shows whether each of them is still watched. */
function writeInEveryFolder(root: string): void {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const folder of [root, ...entries.map((entry) => path.join(entry.parentPath, entry.name))]) {
    writeFileSync(path.join(folder, 'end'), '');
  }
}
