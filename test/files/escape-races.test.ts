// A confined caller gets nothing from outside and changes nothing there while a thread exchanges a folder or file of the root and a link
// that leads out, as fast as it can.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { FileError, Paths } from '#src/files/index.js';
import type { SwapperData } from '../fixtures/link-swapper.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { Scratch, treeOf } from '../support/scratch.js';
import { operations } from './operations.js';

guardAgainstLeaks();

/** Calls of each operation. In most of them the two are exchanged between finding the path and acting on it, or during the search. */
const rounds = 15;

/** What is exchanged, and which path is asked for. */
const races = {
  'a folder on the way is exchanged': { kind: 'folder', path: 'spot/file.txt' },
  'the folder itself is exchanged': { kind: 'folder', path: 'spot' },
  'the file itself is exchanged': { kind: 'file', path: 'spot' },
} as const;

for (const openat2 of ['use', 'avoid'] as const) {
  for (const [how, { kind, path }] of Object.entries(races)) {
    describe(`while ${how}, ${openat2 === 'use' ? 'with openat2' : 'by descent'}`, () => {
      let scratch: Scratch;
      let paths: Paths;
      let worker: Worker;
      const control = new Int32Array(new SharedArrayBuffer(8));

      before(async () => {
        scratch = new Scratch({ 'outside/file.txt': 'the secret', 'outside/other.txt': 'the secret', root: {} });
        paths = Paths.open({ roots: [scratch.at('root')], openat2 });
        const outside = scratch.at('outside', kind === 'file' ? 'file.txt' : '.');
        control.fill(0);
        const workerData: SwapperData = { spot: scratch.at('root/spot'), kind, outside, control };
        worker = new Worker(new URL('../fixtures/link-swapper.js', import.meta.url), { workerData });
        await eventually(() => assert.ok(Atomics.load(control, 1) > 0));
      });
      after(async () => {
        Atomics.store(control, 0, 1);
        await once(worker, 'exit');
        paths.close();
        scratch[Symbol.dispose]();
      });

      for (const [what, { run }] of Object.entries(operations)) {
        test(`nothing outside is reached by an attempt to ${what}`, async () => {
          const earlier = treeOf(scratch.at('outside'));
          const secret = statSync(scratch.at('outside/file.txt')).ino;
          const start = Atomics.load(control, 1);
          for (let round = 0; round < rounds; round += 1) {
            restore(scratch);
            const outcome = await run(paths, scratch.at('root', path), scratch.at('root')).catch((error: unknown) => error);
            if (outcome instanceof Error) assert.ok(outcome instanceof FileError, String(outcome));
            // The text of a link belongs to the link, which is in the root.
            const shown = JSON.stringify({ outcome }, (key, value: unknown) => (key === 'target' ? undefined : value));
            assert.doesNotMatch(shown, new RegExp(`the secret|other\\.txt|/outside|"inode":${secret}\\b`));
          }
          await eventually(() => assert.ok(Atomics.load(control, 1) > start));
          assert.deepEqual(treeOf(scratch.at('outside')), earlier);
        });
      }
    });
  }
}

/** What the operations take from the root, and what they leave there. */
function restore(scratch: Scratch): void {
  for (const name of ['copied', 'moved']) rmSync(scratch.at('root', name), { recursive: true, force: true });
  mkdirSync(scratch.at('root/tree'), { recursive: true });
  writeFileSync(scratch.at('root/tree/leaf.txt'), 'leaf');
  writeFileSync(scratch.at('root/mine.txt'), 'mine');
}
