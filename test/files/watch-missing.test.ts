// Waiting for a file to appear, wherever its way through the folders ends at the moment, or for one to go.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { systemClock } from '#src/base/clock.js';
import { deferred } from '#src/base/deferred.js';
import { FileWatches } from '#src/files/watch/file-watches.js';
import { InotifyNotices } from '#src/files/watch/inotify-notices.js';
import { loadInotify } from '#src/files/watch/inotify.js';
import { PollingNotices, pollIntervalMs } from '#src/files/watch/polling.js';
import { FakeClock, settle } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

const inotify = loadInotify();

guardAgainstLeaks();

for (const notices of ['inotify', 'polling'] as const) {
  const skip = notices === 'inotify' && inotify === undefined ? { skip: 'inotify cannot be called on this machine' } : {};
  describe(`with notices by ${notices}`, skip, () => {
    test('a missing file is announced once when it appears', async () => {
      await using place = new Place(notices);
      assert.equal(await place.watch(['AGENTS.md', '.git']), 'watching');
      place.write('unrelated');
      place.write('AGENTS.md');
      await place.changed();
      place.write('.git');
      await place.noticed();
      assert.equal(place.announced, 1);
    });

    test('a missing file is announced when its folders did not exist either', async () => {
      await using place = new Place(notices);
      assert.equal(await place.watch(['a/b/c/file']), 'watching');
      mkdirSync(place.path('a/b/c'), { recursive: true });
      await place.noticed();
      assert.equal(place.announced, 0);
      place.write('a/b/c/file');
      await place.changed();
    });

    test('a missing file is announced when a folder that contains it takes the place of another', async () => {
      await using place = new Place(notices);
      mkdirSync(place.path('a/b'), { recursive: true });
      mkdirSync(place.path('other/b'), { recursive: true });
      place.write('other/b/file');
      assert.equal(await place.watch(['a/b/file']), 'watching');
      renameSync(place.path('a'), place.path('away'));
      renameSync(place.path('other'), place.path('a'));
      await place.changed();
    });

    test('a file that is present is announced when it goes', async () => {
      await using place = new Place(notices);
      mkdirSync(place.path('.git'));
      assert.equal(await place.watch(['AGENTS.md'], '.git'), 'watching');
      rmSync(place.path('.git'), { recursive: true });
      await place.changed();
    });

    test('there is nothing to wait for if a missing file exists or the present one does not', async () => {
      await using place = new Place(notices);
      symlinkSync('nowhere', place.path('link'));
      assert.equal(await place.watch(['file', 'link']), 'nothing to wait for');
      assert.equal(await place.watch(['file'], 'other'), 'nothing to wait for');
    });

    test('nothing is announced after the watch has been disposed of', async () => {
      await using place = new Place(notices);
      assert.equal(await place.watch(['file']), 'watching');
      place.write('file');
      place.watches.close();
      await settle();
      assert.equal(place.announced, 0);
    });
  });
}

test('if the kernel has no room to go on watching, that counts as a change', { skip: inotify === undefined }, async () => {
  assert.ok(inotify !== undefined);
  let isFull = false;
  const fails = {
    ...inotify,
    inotify_add_watch: (...all: [number, string, number]) => (isFull ? -1 : inotify.inotify_add_watch(...all)),
  };
  await using place = new Place(new InotifyNotices({ ...fails, errno: () => 'ENOSPC' }, systemClock));
  assert.equal(await place.watch(['a/file']), 'watching');
  isFull = true;
  mkdirSync(place.path('a'));
  await place.changed();
});

class Place implements AsyncDisposable {
  readonly watches: FileWatches;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'sluice-watch-'));
  readonly #polls = new FakeClock();
  readonly #changed = deferred<void>();
  announced = 0;

  constructor(notices: 'inotify' | 'polling' | InotifyNotices) {
    const chosen = notices === 'polling' ? new PollingNotices(this.#polls) : notices;
    this.watches = new FileWatches({ clock: systemClock, ...(chosen === 'inotify' ? {} : { notices: chosen }) });
  }

  path(name: string): string {
    return path.join(this.#folder, name);
  }

  write(name: string): void {
    writeFileSync(this.path(name), name);
  }

  async watch(missing: readonly string[], present?: string): Promise<'watching' | 'nothing to wait for'> {
    const watch = await this.watches.watchMissing({
      missing: missing.map((name) => Buffer.from(this.path(name))),
      present: present === undefined ? undefined : Buffer.from(this.path(present)),
      changed: () => {
        this.announced += 1;
        this.#changed.resolve();
      },
    });
    return watch === undefined ? 'nothing to wait for' : 'watching';
  }

  /** Gives what was done a chance to be noticed. */
  async noticed(): Promise<void> {
    await this.#polls.advance(pollIntervalMs);
    await settle();
  }

  /** Waits for the announcement. */
  async changed(): Promise<void> {
    await this.noticed();
    await this.#changed.promise;
    assert.equal(this.announced, 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.watches.close();
    rmSync(this.#folder, { recursive: true });
  }
}
