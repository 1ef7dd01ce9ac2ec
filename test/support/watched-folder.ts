// A temporary folder with a watch on it, for tests of watching: operations by name, and changes as short texts.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '#src/base/clock.js';
import type { FileWatch } from '#src/files/watch/file-watch.js';
import { FileWatches, type WatchOptions } from '#src/files/watch/file-watches.js';
import { PollingNotices, pollIntervalMs } from '#src/files/watch/polling.js';
import type { Change } from '#src/files/watch/tree-update.js';
import type { WatchLimits } from '#src/files/watch/watch-limits.js';
import { FakeClock } from './fake-clock.js';

export interface WatchedFolderOptions extends Partial<Omit<WatchOptions, 'path'>> {
  readonly notices?: 'inotify' | 'polling';
  readonly limits?: Partial<WatchLimits>;
  /** Of what is watched, relative to the folder. */
  readonly watched?: string;
  /** Files and, with a slash at the end, folders that are there from the start. */
  readonly files?: readonly string[];
}

export class WatchedFolder implements AsyncDisposable {
  readonly folder: string;
  readonly watches: FileWatches;
  readonly #polls = new FakeClock();
  #watch: FileWatch | undefined;

  static async open({ files = [], watched = '.', ...options }: WatchedFolderOptions = {}): Promise<WatchedFolder> {
    const opened = new WatchedFolder(options);
    try {
      for (const file of files) opened.write(file);
      opened.#watch = await opened.watches.watch({
        path: path.join(opened.folder, watched),
        recursive: 'yes',
        ...options,
      });
      return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }

  constructor({ notices = 'inotify', limits = {} }: WatchedFolderOptions) {
    this.folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'sluice-watch-')));
    this.watches = new FileWatches({
      clock: systemClock,
      limits,
      ...(notices === 'polling' ? { notices: new PollingNotices(this.#polls) } : {}),
    });
  }

  get watch(): FileWatch {
    if (this.#watch === undefined) throw new Error('the folder is not watched');
    return this.#watch;
  }

  path(name: string): string {
    return path.join(this.folder, name);
  }

  write(name: string, content = name): void {
    mkdirSync(path.dirname(this.path(name)), { recursive: true });
    if (name.endsWith('/')) mkdirSync(this.path(name), { recursive: true });
    else writeFileSync(this.path(name), content);
  }

  /** The next batch, after what was done up to now has been noticed. */
  async changes(): Promise<string[] | undefined> {
    const next = this.watch.next();
    await this.#polls.advance(pollIntervalMs);
    const batch = await next;
    return batch && [...(batch.overflow ? ['overflow'] : []), ...batch.changes.map((change) => this.#text(change))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.watches.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #text(change: Change): string {
    const shown = (file: Buffer): string => path.relative(this.folder, file.toString('latin1'));
    const from = change.kind === 'moved' ? `${shown(change.from)} -> ` : '';
    return `${change.kind} ${from}${shown(change.path)}`;
  }
}
