// Small files that are in memory are read without the thread pool, and no differently.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { after, describe, test } from 'node:test';
import { ByteBudget, Paths, readFile } from '#src/files/index.js';
import { loadCachedCalls } from '#src/files/cached-calls.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch } from '../support/scratch.js';
import { budget, textOf } from './operations.js';

guardAgainstLeaks();

/** Linux before 5.12 cannot tell what it has in memory. */
const isOld = release().localeCompare('5.12', 'en', { numeric: true }) < 0;
const isImpossible = isOld || !existsSync('/dev/shm') || loadCachedCalls() === undefined;

describe('a small file in memory', { skip: isImpossible && 'needs Linux 5.12, koffi and /dev/shm' }, () => {
  const paths = Paths.open();
  after(() => paths.close());

  /** Folders on a file system in memory and on the one for temporary files, which the paths have read from before. */
  async function known(parent: string | undefined): Promise<Scratch> {
    const scratch = new Scratch({ first: 'first' }, parent);
    await textOf(paths, scratch.at('first'));
    return scratch;
  }

  test('is read at once after the first read from its file system', async () => {
    using scratch = await known('/dev/shm');
    writeFileSync(scratch.at('small'), 'small');
    // The kernel gives up while something is being renamed anywhere on the machine.
    await eventually(() => assert.equal(paths.cached.read(scratch.at('small'))?.toString(), 'small'));
  });

  test('is not read at once when it is large or empty, no file, missing, or on an unknown file system', async () => {
    using scratch = await known('/dev/shm');
    scratch.add({ empty: '', large: 'x'.repeat(64 * 1024 + 1), folder: {}, broken: { link: 'none' } });
    execFileSync('mkfifo', [scratch.at('fifo')]);
    for (const name of ['empty', 'large', 'folder', 'fifo', 'none', 'broken'])
      assert.equal(paths.cached.read(scratch.at(name)), undefined, name);
    await textOf(paths, '/proc/self/status');
    assert.equal(paths.cached.read('/proc/self/status'), undefined);
    const others = Paths.open();
    assert.equal(others.cached.read(scratch.at('first')), undefined);
    others.close();
  });

  for (const [where, parent] of [
    ['in memory', '/dev/shm'],
    ['on a disk', undefined],
  ] as const) {
    test(`${where} is read as it is now, however it is changed`, async () => {
      using scratch = await known(parent);
      const path = scratch.at('file');
      const text = async () => textOf(paths, path);
      writeFileSync(path, 'one');
      assert.equal(await text(), 'one');
      appendFileSync(path, ' more');
      assert.equal(await text(), 'one more');
      truncateSync(path, 2);
      assert.equal(await text(), 'on');
      writeFileSync(scratch.at('new'), 'replaced');
      renameSync(scratch.at('new'), path);
      assert.equal(await text(), 'replaced');
      execFileSync('sh', ['-c', 'echo from another process > "$0"', path]);
      assert.equal(await text(), 'from another process\n');
      unlinkSync(path);
      await assert.rejects(text(), { kind: 'notFound', message: `ENOENT: no such file or directory, open "${path}"` });
    });
  }

  test('counts towards the budget, and waits for it', async () => {
    using scratch = await known('/dev/shm');
    const small = new ByteBudget(8);
    const first = await readFile(paths, scratch.at('first'), { links: 'follow', budget: small });
    assert.equal(small.heldBytes, 5);
    const second = readFile(paths, scratch.at('first'), { links: 'follow', budget: small });
    while (small.waiting === 0) await new Promise(setImmediate);
    first.release();
    (await second).release();
    assert.equal(small.heldBytes, 0);
    assert.equal(budget.heldBytes, 0);
  });
});
