// What is in a tree, with the SHA-256 of each file, page by page: with it, a transfer that was cut leaves out what has arrived already.
// Nothing is remembered between pages: each starts after a path.

import { createHash } from 'node:crypto';
import { type Stats, closeSync, constants, fstatSync, lstatSync, promises as fs, readSync, readlinkSync } from 'node:fs';
import { errnoOf, refused } from '../file-error.js';
import { keyOf, nameOf } from '../folder.js';
import { readSome } from '../fs-calls.js';
import type { HeldFolder } from '../held-folder.js';
import { type FileKind, metadataOf } from '../metadata.js';
import type { NativePath } from '../native-path.js';
import type { Spot } from '../place.js';
import { deepestTree, openTree } from './held-walk.js';
import { Slice } from './slice.js';

export interface DigestOptions {
  /** Only entries after this path, relative to the tree. */
  readonly after?: NativePath | undefined;
  /** Entries of a page. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

export interface DigestEntry {
  /** Relative to the tree. */
  readonly path: NativePath;
  readonly kind: FileKind;
  readonly size: number;
  readonly modifiedAtMs: number;
  readonly mode: number;
  /** Of a file, in hexadecimal digits. Undefined if it cannot be read, or changed meanwhile. */
  readonly sha256?: string;
  /** Of a link. */
  readonly target?: NativePath;
}

export interface DigestPage {
  readonly entries: readonly DigestEntry[];
  /** `after` for the next page; undefined at the end. */
  readonly next?: NativePath;
}

/** Bytes after whose reading a page ends early, so that it takes seconds at most. */
const mostBytes = 256 * 1024 * 1024;

/** Bytes read at a time: those of a small file synchronously, see slice.ts. */
const pieceBytes = 256 * 1024;
const smallFile = 32 * 1024;

/** A folder comes before its contents; the names in a folder are in the order of their bytes. Links are not followed. */
export async function digestTree(source: Spot, options: DigestOptions): Promise<DigestPage> {
  const digest = new TreeDigest(options);
  const root = openTree(source);
  try {
    await digest.visit(
      { folder: root, prefix: '', depth: 0 },
      options.after === undefined ? [] : keyOf(options.after).split('/'),
    );
  } finally {
    root.close();
  }
  return digest.page();
}

interface Level {
  readonly folder: HeldFolder;
  /** Its path, with a slash at the end unless it is empty. */
  readonly prefix: string;
  readonly depth: number;
}

class TreeDigest {
  readonly #options: DigestOptions;
  readonly #slice = new Slice();
  readonly #piece = Buffer.allocUnsafe(pieceBytes);
  readonly #entries: DigestEntry[] = [];
  #bytes = 0;

  constructor(options: DigestOptions) {
    this.#options = options;
  }

  page(): DigestPage {
    const last = this.#isFull ? this.#entries.at(-1) : undefined;
    return last === undefined ? { entries: this.#entries } : { entries: this.#entries, next: last.path };
  }

  get #isFull(): boolean {
    return this.#entries.length >= this.#options.limit || this.#bytes >= mostBytes;
  }

  /** Lists what comes after the path `after`, whose names are relative to this folder. */
  async visit({ folder, prefix, depth }: Level, after: readonly string[]): Promise<void> {
    if (depth > deepestTree) throw refused(`the tree is deeper than ${deepestTree} folders`);
    const [first = '', ...rest] = after;
    const names = (await fs.readdir(folder.pathOf('.'), 'latin1')).filter((name) => name >= first).toSorted();
    for (const name of names) {
      if (this.#isFull) return;
      this.#options.signal?.throwIfAborted();
      if (this.#slice.isOver()) await this.#slice.next();
      const stats = lstatSync(folder.pathOf(name), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (name !== first) this.#entries.push({ ...(await this.#describe(folder, name, stats)), path: nameOf(prefix + name) });
      if (!stats.isDirectory()) continue;
      const inner = openUnlessGone(folder, name);
      if (inner === undefined) continue;
      try {
        await this.visit({ folder: inner, prefix: `${prefix}${name}/`, depth: depth + 1 }, name === first ? rest : []);
      } finally {
        inner.close();
      }
    }
  }

  async #describe(folder: HeldFolder, name: string, stats: Stats): Promise<Omit<DigestEntry, 'path'>> {
    const { kind, size, modifiedAtMs, mode } = metadataOf(stats);
    const about = { kind, size, modifiedAtMs, mode };
    try {
      if (kind === 'symlink') return { ...about, target: nameOf(readlinkSync(folder.pathOf(name), { encoding: 'latin1' })) };
      const sha256 =
        kind === 'file' ? await this.#hash(folder.openFile(name, constants.O_RDONLY | constants.O_NONBLOCK), size) : undefined;
      return sha256 === undefined ? about : { ...about, sha256 };
    } catch (error) {
      if (!unreadable.has(errnoOf(error) ?? '')) throw error;
      return about;
    }
  }

  /** Closes the descriptor. */
  async #hash(fd: number, size: number): Promise<string | undefined> {
    const hash = createHash('sha256');
    try {
      if (!fstatSync(fd).isFile()) return undefined;
      let total = 0;
      for (let count = -1; count !== 0 && total <= size; total += count) {
        count = size <= smallFile ? readSync(fd, this.#piece) : await readSome(fd, this.#piece, null);
        hash.update(this.#piece.subarray(0, count));
      }
      this.#bytes += total;
      return total === size ? hash.digest('hex') : undefined;
    } finally {
      closeSync(fd);
    }
  }
}

/** The entry may not be read, or is another one by now. */
const unreadable = new Set(['EACCES', 'EPERM', 'ENOENT', 'ELOOP', 'ENOTDIR', 'EINVAL', 'ENXIO']);

function openUnlessGone(folder: HeldFolder, name: string): HeldFolder | undefined {
  try {
    return folder.openFolder(name);
  } catch (error) {
    if (!unreadable.has(errnoOf(error) ?? '')) throw error;
    return undefined;
  }
}
