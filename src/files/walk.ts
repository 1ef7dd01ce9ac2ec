// Codex's walk of a tree: breadth first, names in order, within limits, with the folders that could not be read.

import { fileErrorOf, refused } from './file-error.js';
import { keyOf } from './folder.js';
import { type DirectoryEntry, readDirectory } from './list-folder.js';
import { metadata, targetStats } from './metadata.js';
import { type NativePath, joinPath } from './native-path.js';
import { uriOfPath } from './path-uri.js';
import type { Paths } from './paths.js';

export interface WalkOptions {
  /** 0 lists the entries of the root only. */
  readonly maxDepth: number;
  readonly maxDirectories: number;
  /** Counts the entries looked at, listed or not. */
  readonly maxEntries: number;
  readonly directoryLinks: 'follow' | 'ignore';
  /** `prune`: listed, not entered. */
  readonly hiddenDirectories: 'enter' | 'prune';
  readonly signal?: AbortSignal;
}

export interface WalkOutcome {
  readonly entries: readonly { readonly path: NativePath; readonly kind: 'file' | 'directory' }[];
  readonly errors: readonly { readonly path: NativePath; readonly message: string }[];
  readonly isTruncated: boolean;
}

/** The most that one walk may ask for. */
const walkLimits = { depth: 64, directories: 10_000, entries: 50_000 } as const;

/** Size of an outcome: the sum of its URIs and messages, and a fixed amount for each. */
const mostOutcomeBytes = 4 * 1024 * 1024;
const bytesPerElement = 64;

/** Rejects with the signal's reason when it is aborted. */
export async function walk(paths: Paths, root: NativePath, options: WalkOptions): Promise<WalkOutcome> {
  judgeLimits(options);
  const { kind, isLink } = await metadata(paths, root, { links: 'follow' });
  const walker = new Walker(paths, options);
  if (kind === 'directory' && (!isLink || options.directoryLinks === 'follow')) await walker.run(root);
  return walker.outcome;
}

function judgeLimits({ maxDepth, maxDirectories, maxEntries }: WalkOptions): void {
  if (maxDirectories === 0 || maxEntries === 0) throw refused('filesystem walk limits must be greater than zero');
  const { depth, directories, entries } = walkLimits;
  if (maxDepth > depth || maxDirectories > directories || maxEntries > entries) {
    throw refused(`filesystem walk limits exceed maximums: depth=${depth}, directories=${directories}, entries=${entries}`);
  }
}

class Walker {
  readonly #paths: Paths;
  readonly #options: WalkOptions;
  readonly #entries: WalkOutcome['entries'][number][] = [];
  readonly #errors: WalkOutcome['errors'][number][] = [];
  #isTruncated = false;
  readonly #queue: { readonly path: NativePath; readonly depth: number }[] = [];
  /** Device and inode of every folder in the queue, past and present: a link must not lead in circles. */
  readonly #entered = new Set<string>();
  #seen = 0;
  #bytes = 0;

  constructor(paths: Paths, options: WalkOptions) {
    this.#paths = paths;
    this.#options = options;
  }

  get outcome(): WalkOutcome {
    return { entries: this.#entries, errors: this.#errors, isTruncated: this.#isTruncated };
  }

  async run(root: NativePath): Promise<void> {
    await this.#enqueue(root, 0);
    // The queue only grows, so that it also counts the folders.
    for (let at = 0; at < this.#queue.length; at += 1) {
      const next = this.#queue[at];
      if (next === undefined || !(await this.#readFolder(next.path, next.depth))) return;
    }
  }

  /** False when the outcome is full. */
  async #readFolder(folder: NativePath, depth: number): Promise<boolean> {
    this.#options.signal?.throwIfAborted();
    let entries: DirectoryEntry[];
    try {
      entries = await readDirectory(this.#paths, folder);
    } catch (error) {
      return this.#addError(folder, error);
    }
    const sorted = entries
      .map((entry) => ({ entry, key: keyOf(entry.name) }))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1));
    for (const { entry } of sorted) {
      if (this.#seen === this.#options.maxEntries) return this.#truncate();
      this.#seen += 1;
      if (!(await this.#add(entry, joinPath(folder, entry.name), depth))) return false;
    }
    return true;
  }

  async #add({ name, kind, isLink }: DirectoryEntry, path: NativePath, depth: number): Promise<boolean> {
    if (kind === 'other') return true;
    if (isLink && (kind === 'file' || this.#options.directoryLinks === 'ignore')) return true;
    if (!this.#reserve(uriOfPath(path).length)) return false;
    this.#entries.push({ path, kind });
    if (kind === 'file' || depth >= this.#options.maxDepth) return true;
    if (this.#options.hiddenDirectories === 'prune' && keyOf(name).startsWith('.')) return true;
    try {
      await this.#enqueue(path, depth + 1);
      return true;
    } catch (error) {
      return this.#addError(path, error);
    }
  }

  async #enqueue(path: NativePath, depth: number): Promise<void> {
    if (this.#options.directoryLinks === 'follow') {
      const { dev, ino } = await this.#paths.using(path, { links: 'follow', for: 'read' }, targetStats);
      const identity = `${dev}:${ino}`;
      if (this.#entered.has(identity)) return;
      this.#entered.add(identity);
    }
    if (this.#queue.length === this.#options.maxDirectories) this.#truncate();
    else this.#queue.push({ path, depth });
  }

  #addError(path: NativePath, error: unknown): boolean {
    const { message } = fileErrorOf(error);
    if (!this.#reserve(uriOfPath(path).length + Buffer.byteLength(message))) return false;
    this.#errors.push({ path, message });
    return true;
  }

  #reserve(bytes: number): boolean {
    if (this.#bytes + bytes + bytesPerElement > mostOutcomeBytes) return this.#truncate();
    this.#bytes += bytes + bytesPerElement;
    return true;
  }

  #truncate(): false {
    this.#isTruncated = true;
    return false;
  }
}
