// One watch. Collects notices until a reader asks for changes, then compares the noticed names with what the reader was told before. So
// changes are coalesced however slow the reader is, and what is kept for it is bounded by the size of the tree.

import type { Clock } from '../../base/clock.js';
import { type Deferred, deferred } from '../../base/deferred.js';
import { type KnownEntry, type KnownFolder, type KnownTree, insideOut, isSameInode } from './known-tree.js';
import type { Follower, Notices } from './notices.js';
import { type IsInside, type OpenedFolder, openFolder } from './opened-folder.js';
import type { Names } from './sightings.js';
import { type Change, type UpdateOptions, lookAtContent, updateTree } from './tree-update.js';
import type { WatchLimits } from './watch-limits.js';

/**
 * From the first notice to looking: a file written in several steps is one change, and a move is noticed with both of its names. Too short
 * to be felt by a person.
 */
const burstMs = 20;

export interface WatchBatch {
  /** In an order in which they can be applied one after the other. */
  readonly changes: readonly Change[];
  /** Notices were lost. The changes were found by comparing everything, so they lead to the right state, but moves are not recognised. */
  readonly overflow: boolean;
}

export interface WatchContext {
  readonly notices: Notices;
  readonly clock: Clock;
  readonly limits: WatchLimits;
  closed(watch: FileWatch): void;
}

/** What is watched: the tree below a folder, or the one file in its folder. */
export interface Watched {
  readonly tree: KnownTree;
  readonly isInside: IsInside | undefined;
  readonly file: { readonly name: string; readonly path: Buffer } | undefined;
}

export class FileWatch {
  readonly #watched: Watched;
  readonly #context: WatchContext;
  readonly #update: UpdateOptions;
  readonly #noticed = new Map<KnownFolder, Map<string, number>>();
  #noticedNames = 0;
  /** Everything is to be looked at: see `Follower.lookAtAll`. */
  #all: 'no' | 'due' | 'lost' = 'no';
  /** When the first of the unread notices came, by the clock's `elapsed`. */
  #noticedAt: number | undefined;
  /** The root was removed. Another folder in its place may have the same inode number. */
  #isRootOver = false;
  #state: 'open' | 'rootGone' | 'closed' = 'open';
  #unread: WatchBatch = { changes: [], overflow: false };
  #isReading = false;
  #onNotice: Deferred<void> | undefined;
  #burst: Deferred<void> | undefined;

  constructor(watched: Watched, context: WatchContext) {
    this.#watched = watched;
    this.#context = context;
    this.#update = {
      tree: watched.tree,
      isInside: watched.isInside,
      only: watched.file?.name,
      opened: (folder, opened) => this.#opened(folder, opened),
      notSeen: (folder, names) => this.#keep(folder, names),
      isClosed: () => this.#state === 'closed',
    };
  }

  /** Takes in the present state. To be called once, before anything else. Closes the watch if it fails. */
  async start(): Promise<void> {
    try {
      await lookAtContent(this.#watched.tree.root, [], this.#update);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Watched folders at present. */
  get folders(): number {
    return this.#watched.tree.folders;
  }

  /**
   * The changes since the last call, as soon as there are some. Undefined once the watch is closed, or after the end of what is watched
   * has been reported. One call at a time. Throws a `FileError` and closes the watch if it has grown beyond a limit.
   */
  async next(): Promise<WatchBatch | undefined> {
    if (this.#isReading) throw new Error('the previous call of next() has not returned yet; await it first');
    this.#isReading = true;
    try {
      for (;;) {
        if (this.#state === 'closed') return undefined;
        const batch = this.#takeUnread();
        if (batch !== undefined) return batch;
        if (this.#state === 'rootGone') this.close();
        else await this.#burstEnded();
        if (this.#state === 'open') await this.#lookAgain();
      }
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#isReading = false;
    }
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    for (const entry of insideOut(this.#watched.tree.root)) unfollow(entry);
    this.#onNotice?.resolve();
    this.#burst?.resolve();
    this.#context.closed(this);
  }

  #takeUnread(): WatchBatch | undefined {
    const { changes, overflow } = this.#unread;
    if (changes.length === 0 && !overflow) return undefined;
    const { changesPerBatch } = this.#context.limits;
    this.#unread = { changes: changes.slice(changesPerBatch), overflow: false };
    return { changes: changes.slice(0, changesPerBatch), overflow };
  }

  /** Waits for a notice, and then for the end of the burst that it may have begun. */
  async #burstEnded(): Promise<void> {
    while (this.#noticedAt === undefined && this.#state === 'open') {
      this.#onNotice = deferred();
      await this.#onNotice.promise;
    }
    const { clock } = this.#context;
    const restMs = burstMs - (clock.elapsed() - (this.#noticedAt ?? 0));
    if (restMs <= 0 || this.#state !== 'open') return;
    const burst = deferred<void>();
    this.#burst = burst;
    const timer = clock.after(restMs, () => burst.resolve());
    await burst.promise;
    timer.cancel();
  }

  async #lookAgain(): Promise<void> {
    const { tree, file } = this.#watched;
    const overflow = this.#all === 'lost';
    const noticed = this.#takeNoticed(overflow);
    if (this.#isRootOver || !(await this.#isRootThere()))
      return this.#endWith([{ kind: 'removed', path: file?.path ?? tree.pathOf(tree.root) }]);
    const changes = await updateTree(noticed, this.#update);
    if (file === undefined) this.#unread = { changes, overflow };
    else if (!tree.root.children.has(file.name)) this.#endWith([{ kind: 'removed', path: file.path }]);
    else this.#unread = { changes: changes.map((change) => ({ ...change, path: file.path })), overflow };
  }

  #endWith(changes: readonly Change[]): void {
    if (this.#state !== 'open') return;
    this.#state = 'rootGone';
    this.#unread = { changes, overflow: false };
  }

  async #isRootThere(): Promise<boolean> {
    const { tree, isInside } = this.#watched;
    const opened = await openFolder(tree.pathOf(tree.root), 'follow', isInside);
    if (opened === 'absent') return false;
    if (opened === 'unreadable') return true; // until its permissions change again
    opened.close();
    return isSameInode(opened.facts, tree.root.facts);
  }

  /** After lost notices, one of them may have been the end of following a folder, so all are followed anew. */
  #takeNoticed(overflow: boolean): ReadonlyMap<KnownFolder, Names> {
    const all = this.#all;
    const noticed = new Map<KnownFolder, Names>(this.#noticed);
    this.#all = 'no';
    this.#noticed.clear();
    this.#noticedNames = 0;
    this.#noticedAt = undefined;
    if (all === 'no') return noticed;
    const folders = insideOut(this.#watched.tree.root).filter((entry) => entry.kind === 'folder');
    if (overflow) for (const folder of folders) unfollow(folder);
    return new Map(folders.toReversed().map((folder) => [folder, 'all']));
  }

  #opened(folder: KnownFolder, opened: OpenedFolder): void {
    if (folder.unfollow !== undefined || this.#state === 'closed') return;
    folder.unfollow = this.#context.notices.follow(opened.descriptor, this.#followerOf(folder));
  }

  #followerOf(folder: KnownFolder): Follower {
    return {
      named: (name, hint) => {
        if (this.#watched.file !== undefined && this.#watched.file.name !== name) return;
        this.#note(folder, name, hint);
        this.#wake();
      },
      selfChanged: () => {
        if (folder.parent === undefined) this.#wake(); // others are noticed in their parent
      },
      ended: () => {
        folder.unfollow = undefined;
        if (folder === this.#watched.tree.root) this.#isRootOver = true;
        else if (folder.parent !== undefined) this.#note(folder.parent, folder.name, 0);
        this.#wake();
      },
      lookAtAll: (why) => {
        this.#lookAtAll(why);
        this.#wake();
      },
    };
  }

  #note(folder: KnownFolder, name: string, hint: number): void {
    if (this.#all !== 'no') return;
    const names = this.#noticed.get(folder) ?? new Map<string, number>();
    const before = names.get(name);
    if (before === undefined) {
      this.#noticedNames += 1;
      if (this.#noticedNames > this.#context.limits.noticedNames) return this.#lookAtAll('lost');
      this.#noticed.set(folder, names);
    }
    names.set(name, (before ?? 0) | hint);
  }

  #lookAtAll(why: 'lost' | 'due'): void {
    if (this.#all !== 'lost') this.#all = why;
    this.#noticed.clear();
  }

  /** Does not wake the reader: there is nothing to see until the next notice. */
  #keep(folder: KnownFolder, names: Names): void {
    if (names === 'all') return void (this.#all === 'no' && this.#lookAtAll('due'));
    for (const [name, hint] of names) this.#note(folder, name, hint);
  }

  #wake(): void {
    this.#noticedAt ??= this.#context.clock.elapsed();
    this.#onNotice?.resolve();
  }
}

function unfollow(entry: KnownEntry): void {
  if (entry.kind === 'leaf') return;
  entry.unfollow?.();
  entry.unfollow = undefined;
}
