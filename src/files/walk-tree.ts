// A tree in the order of a sorted depth-first walk, page by page. Nothing is remembered between pages: each starts after a path.

import { promises as fs } from 'node:fs';
import { FileError, fileErrorOf, refused } from './file-error.js';
import { fewAtOnce } from './few-at-once.js';
import { type Folder, inFolder, keyOf, keysIn, nameOf, openFolder } from './folder.js';
import { type ListedEntry, entryIn } from './list-folder.js';
import { type NativePath, joinPath, relativePath, splitPath } from './native-path.js';
import type { Paths } from './paths.js';

export interface WalkTreeOptions {
  /** Only entries after this path, relative to the root of the walk. */
  readonly after?: NativePath;
  readonly limit: number;
  /** 0 lists the entries of the root only. */
  readonly maxDepth?: number;
  /** `follow`: folders behind links are entered, except one that contains the link. */
  readonly folderLinks: 'follow' | 'ignore';
  readonly signal?: AbortSignal;
}

export interface TreeEntry extends Omit<ListedEntry, 'name'> {
  /** Relative to the root of the walk. */
  readonly path: NativePath;
}

export interface TreePage {
  readonly entries: readonly TreeEntry[];
  /** Folders that could not be read; the walk goes on. */
  readonly errors: readonly { readonly path: NativePath; readonly message: string }[];
  /** `after` for the next page; undefined at the end. */
  readonly next?: NativePath;
}

/** A folder comes before its contents; the names in a folder are in the order of their bytes. */
export async function walkTree(paths: Paths, root: NativePath, options: WalkTreeOptions): Promise<TreePage> {
  const walker = new TreeWalker(paths, root, options);
  const folder = await openAt(paths, root);
  try {
    const { dev, ino } = await fs.stat(folder.path);
    const after = options.after === undefined ? [] : splitPath(options.after);
    await walker.visit({ folder, names: [], ancestors: [`${dev}:${ino}`] }, after);
  } finally {
    folder.close();
  }
  return walker.page();
}

/** A folder on the way down. */
interface Level {
  readonly folder: Folder;
  readonly names: readonly NativePath[];
  /** Device and inode of this folder and of those above, by which a link that leads in a circle is recognised. */
  readonly ancestors: readonly string[];
}

async function openAt(paths: Paths, path: NativePath): Promise<Folder> {
  return paths.using(path, { links: 'follow', for: 'read' }, openFolder);
}

class TreeWalker {
  readonly #paths: Paths;
  readonly #root: NativePath;
  readonly #options: WalkTreeOptions;
  readonly #entries: TreeEntry[] = [];
  readonly #errors: TreePage['errors'][number][] = [];

  constructor(paths: Paths, root: NativePath, options: WalkTreeOptions) {
    this.#paths = paths;
    this.#root = root;
    this.#options = options;
  }

  page(): TreePage {
    const { limit } = this.#options;
    const [entries, errors] = [this.#entries.slice(0, limit), this.#errors];
    const last = this.#entries.length > limit ? entries.at(-1) : undefined;
    return last === undefined ? { entries, errors } : { entries, errors, next: last.path };
  }

  get #isFull(): boolean {
    return this.#entries.length > this.#options.limit; // one more shows that there is a next page
  }

  /** Lists what comes after the path `after`, whose names are relative to this folder. */
  async visit(level: Level, after: readonly NativePath[]): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const [first, ...rest] = after;
    const start = first === undefined ? '' : keyOf(first); // no name is empty
    const keys = (await keysIn(level.folder)).filter((key) => key >= start).toSorted();
    for (let at = 0; at < keys.length && !this.#isFull; at += batch) {
      const names = keys.slice(at, at + batch).map(nameOf);
      const entries = await fewAtOnce(names, async (name) => entryIn(level.folder, name));
      for (const entry of entries) {
        if (entry === undefined) continue;
        if (this.#isFull) return;
        const isResumed = keyOf(entry.name) === start;
        if (!isResumed) this.#list(entry, level);
        await this.#enter(entry, level, isResumed ? rest : []);
      }
    }
  }

  #list({ name, ...entry }: ListedEntry, { names }: Level): void {
    this.#entries.push({ path: relativePath([...names, name]), ...entry });
  }

  async #enter({ name, kind }: ListedEntry, level: Level, after: readonly NativePath[]): Promise<void> {
    if (kind !== 'directory' && (kind !== 'symlink' || this.#options.folderLinks === 'ignore')) return;
    const depth = level.names.length;
    if (depth >= (this.#options.maxDepth ?? Number.POSITIVE_INFINITY)) return;
    const names = [...level.names, name];
    try {
      if (depth >= mostLevels) throw refused(`folders nested more than ${mostLevels} deep are not entered`);
      const folder = await this.#openInner(level, name, kind);
      if (folder !== undefined) await this.#visitInner({ folder, names, ancestors: level.ancestors }, after);
    } catch (error) {
      if (this.#options.signal?.aborted === true) throw error;
      this.#errors.push({ path: relativePath(names), message: fileErrorOf(error, inFolder(level.folder, name).shown).message });
    }
  }

  async #visitInner(level: Level, after: readonly NativePath[]): Promise<void> {
    try {
      if (this.#options.folderLinks === 'ignore') return await this.visit(level, after);
      const { dev, ino } = await fs.stat(level.folder.path);
      const identity = `${dev}:${ino}`;
      if (!level.ancestors.includes(identity)) await this.visit({ ...level, ancestors: [...level.ancestors, identity] }, after);
    } finally {
      level.folder.close();
    }
  }

  /** Undefined for a link that does not lead to a folder. */
  async #openInner(level: Level, name: NativePath, kind: 'directory' | 'symlink'): Promise<Folder | undefined> {
    if (kind === 'directory') return openFolder(inFolder(level.folder, name));
    try {
      return await openAt(this.#paths, joinPath(this.#root, relativePath([...level.names, name])));
    } catch (error) {
      if (error instanceof FileError) return undefined;
      throw error;
    }
  }
}

/** Entries whose details are read at a time: a page of few entries must not read a large folder's. */
const batch = 64;

/** Each level has a folder open. */
const mostLevels = 256;
