// All watches of one server. They share one source of notices: the kernel where inotify can be called, otherwise polling.

import { realpath, stat } from 'node:fs/promises';
import type { Clock } from '../../base/clock.js';
import { fileErrorOf, refused, systemError } from '../file-error.js';
import { type NativePath, bytesOf } from '../native-path.js';
import { shownPath } from '../path-uri.js';
import { FileWatch, type WatchContext } from './file-watch.js';
import { InotifyNotices } from './inotify-notices.js';
import { loadInotify } from './inotify.js';
import { KnownTree } from './known-tree.js';
import { type MissingOptions, type MissingWatch, startMissingWatch } from './missing.js';
import type { Notices } from './notices.js';
import { type IsInside, openFolder } from './opened-folder.js';
import { PollingNotices } from './polling.js';
import { type WatchLimits, defaultWatchLimits } from './watch-limits.js';

export interface WatchOptions {
  /** Of a folder, or of a file, which may be replaced while it is watched. A link is followed here, and nowhere below. */
  readonly path: NativePath;
  readonly recursive: 'no' | 'yes';
  /** Every folder is watched if it is left out. */
  readonly isInside?: IsInside | undefined;
}

export interface FileWatchesOptions {
  readonly clock: Clock;
  readonly limits?: Partial<WatchLimits>;
  /** Where notices come from; by default the best that this machine has. */
  readonly notices?: Notices;
}

export class FileWatches {
  readonly #context: WatchContext;
  readonly #open = new Set<FileWatch>();
  readonly #missing = new Set<MissingWatch>();
  #isClosed = false;

  constructor({ clock, limits, notices }: FileWatchesOptions) {
    const inotify = loadInotify();
    this.#context = {
      notices: notices ?? (inotify === undefined ? new PollingNotices(clock) : new InotifyNotices(inotify, clock)),
      clock,
      limits: { ...defaultWatchLimits, ...limits },
      closed: (watch) => this.#open.delete(watch),
    };
  }

  /** For metrics: open watches, and the folders that they follow. */
  get figures(): { readonly watches: number; readonly folders: number } {
    return { watches: this.#open.size, folders: [...this.#open].reduce((sum, watch) => sum + watch.folders, 0) };
  }

  /** Reports what changes after the promise has resolved, until the watch is closed. Throws a `FileError` if the path cannot be watched. */
  async watch(options: WatchOptions): Promise<FileWatch> {
    const shown = shownPath(options.path);
    try {
      const watch = await this.#prepare(options, shown);
      if (this.#isClosed) throw refused(`"${shown}" is not watched: the server is shutting down`);
      this.#open.add(watch);
      await watch.start();
      return watch;
    } catch (error) {
      throw fileErrorOf(error, shown);
    }
  }

  /** See `MissingOptions`. Undefined if there is nothing to wait for: one of the missing files exists, or the present one does not. */
  async watchMissing(options: MissingOptions): Promise<Disposable | undefined> {
    const { notices } = this.#context;
    const context = { notices, closed: (each: MissingWatch) => void this.#missing.delete(each) };
    const watch = await startMissingWatch(options, context).catch((error: unknown) => {
      throw fileErrorOf(error);
    });
    if (watch === undefined) return undefined;
    if (this.#isClosed) watch[Symbol.dispose]();
    else this.#missing.add(watch);
    return watch;
  }

  close(): void {
    this.#isClosed = true;
    for (const watch of this.#open) watch.close();
    for (const watch of this.#missing) watch[Symbol.dispose]();
  }

  /** A file is watched through its folder, so that it may be replaced. */
  async #prepare({ path: given, recursive, isInside }: WatchOptions, shown: string): Promise<FileWatch> {
    const path = bytesOf(given);
    const isFolder = await isFolderAt(path).catch((error: unknown) => {
      throw isInside === undefined ? error : systemError('ENOENT', shown);
    });
    const target = isFolder ? path : await realpath(path, { encoding: 'buffer' });
    const slash = target.lastIndexOf('/');
    const folder = isFolder ? target : target.subarray(0, Math.max(slash, 1));
    const opened = await openFolder(folder, 'follow', isInside);
    // Where folders are confined, the answer must not tell what exists outside, even if a link has taken the place of the path.
    if (opened === 'absent' || (opened === 'unreadable' && isInside !== undefined)) throw systemError('ENOENT', shown);
    if (opened === 'unreadable') throw refused(`"${shown}" cannot be watched: its folder may not be read`);
    opened.close();
    const depth = isFolder && recursive === 'yes' ? 'all' : 'children';
    const tree = new KnownTree({ path: folder, facts: opened.facts }, depth, this.#context.limits);
    const file = isFolder ? undefined : { name: target.toString('latin1', slash + 1), path };
    return new FileWatch({ tree, isInside, file }, this.#context);
  }
}

async function isFolderAt(path: Buffer): Promise<boolean> {
  return (await stat(path)).isDirectory();
}
