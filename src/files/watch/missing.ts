// Waits until one of several missing files appears, or one that is present goes. Follows every folder on the way to each of them, so it
// does not matter how much of the way exists.

import { lstat } from 'node:fs/promises';
import { errnoOf } from '../file-error.js';
import type { Follower, Notices } from './notices.js';
import { openFolder } from './opened-folder.js';

export interface MissingOptions {
  /** Absolute and normalized, as is `present`. */
  readonly missing: readonly Buffer[];
  readonly present: Buffer | undefined;
  /** Called once at most, and never before `watchMissing` has returned. */
  changed(): void;
  /** Whether there is something at a path. By default any entry counts, even a link that leads nowhere. */
  readonly exists?: ((path: Buffer) => Promise<boolean>) | undefined;
}

export interface MissingContext {
  readonly notices: Notices;
  closed(watch: MissingWatch): void;
}

/** Undefined if there is nothing to wait for: one of the missing files exists, or the present one does not. */
export async function startMissingWatch(options: MissingOptions, context: MissingContext): Promise<MissingWatch | undefined> {
  const watch = new MissingWatch(options, context);
  try {
    if (await watch.check()) return watch;
    watch[Symbol.dispose]();
    return undefined;
  } catch (error) {
    watch[Symbol.dispose]();
    throw error;
  }
}

export class MissingWatch implements Disposable {
  readonly #options: MissingOptions;
  readonly #context: MissingContext;
  #unfollow: (() => void)[] = [];
  #state: 'waiting' | 'checking' | 'checkAgain' | 'over' = 'waiting';

  constructor(options: MissingOptions, context: MissingContext) {
    this.#options = options;
    this.#context = context;
  }

  /** Follows the folders as they are now, then looks. Returns whether everything is still as it was. */
  async check(): Promise<boolean> {
    this.#state = 'checking';
    const before = this.#unfollow;
    this.#unfollow = [];
    try {
      await this.#followAll();
      return await this.#isUnchanged();
    } finally {
      for (const unfollow of before) unfollow();
      if (this.#isOver()) this.#unfollowAll();
      else this.#checked();
    }
  }

  [Symbol.dispose](): void {
    if (this.#isOver()) return;
    this.#state = 'over';
    this.#unfollowAll();
    this.#context.closed(this);
  }

  #unfollowAll(): void {
    for (const unfollow of this.#unfollow) unfollow();
    this.#unfollow = [];
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  #checked(): void {
    const isStale = this.#state === 'checkAgain';
    this.#state = 'waiting';
    if (isStale) this.#noticed();
  }

  #noticed(): void {
    if (this.#state === 'checking') this.#state = 'checkAgain';
    if (this.#state !== 'waiting') return;
    this.#state = 'checking';
    // In a later turn, when the caller of `watchMissing` has its watch.
    setImmediate(() => void this.#checkAndTell());
  }

  async #checkAndTell(): Promise<void> {
    if (this.#isOver()) return;
    // If it cannot be watched any longer, the caller has to look for itself, just as after a change.
    const isUnchanged = await this.check().catch(() => false);
    if (isUnchanged || this.#isOver()) return;
    this[Symbol.dispose]();
    this.#options.changed();
  }

  async #isUnchanged(): Promise<boolean> {
    const { missing, present, exists = existsOnDisk } = this.#options;
    const found = await Promise.all(missing.map(async (path) => exists(path)));
    return !found.includes(true) && (present === undefined || (await exists(present)));
  }

  async #followAll(): Promise<void> {
    const { missing, present } = this.#options;
    for (const [folder, names] of namesByFolder(present === undefined ? missing : [...missing, present])) {
      const opened = await openFolder(Buffer.from(folder, 'latin1'), 'follow', undefined);
      if (opened === 'absent' || opened === 'unreadable') continue;
      try {
        const unfollow = this.#context.notices.follow(opened.descriptor, this.#followerFor(names));
        if (unfollow !== undefined) this.#unfollow.push(unfollow);
      } finally {
        opened.close();
      }
    }
  }

  #followerFor(names: ReadonlySet<string>): Follower {
    const noticed = (): void => this.#noticed();
    return { named: (name) => names.has(name) && noticed(), selfChanged: noticed, ended: noticed, lookAtAll: noticed };
  }
}

/** For each folder on the way to one of the paths, the names in it that matter. Outer folders come first. */
function namesByFolder(paths: readonly Buffer[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byFolder = new Map<string, Set<string>>();
  for (const path of paths) {
    let folder = '';
    for (const name of path.toString('latin1').split('/').filter(Boolean)) {
      const names = byFolder.get(folder === '' ? '/' : folder) ?? new Set();
      byFolder.set(folder === '' ? '/' : folder, names.add(name));
      folder = `${folder}/${name}`;
    }
  }
  return byFolder;
}

async function existsOnDisk(path: Buffer): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return false;
    throw error;
  }
}
