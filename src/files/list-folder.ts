// What a folder contains: as Codex lists it, and in sorted pages with details.

import type { Stats } from 'node:fs';
import { FileError, errnoOf } from './file-error.js';
import { fewAtOnce } from './few-at-once.js';
import { type Folder, entriesIn, inFolder, keyOf, keysIn, nameOf, withFolder } from './folder.js';
import { lstat, readLink } from './fs-calls.js';
import { type FileKind, kindOf, targetStats } from './metadata.js';
import { type NativePath, joinPath, nativePath } from './native-path.js';
import type { Paths } from './paths.js';

/** The most entries of a folder in one reply of Codex's protocol. */
const mostListedEntries = 50_000;

export interface DirectoryEntry {
  readonly name: NativePath;
  /** Of a link, what it leads to. */
  readonly kind: Exclude<FileKind, 'symlink'>;
  readonly isLink: boolean;
}

/** In no order. Links that lead nowhere, or out of the roots, are left out. */
export async function readDirectory(paths: Paths, path: NativePath): Promise<DirectoryEntry[]> {
  const entries = await paths.using(path, { links: 'follow', for: 'read' }, async (place) => withFolder(place, entriesIn));
  const judged = await fewAtOnce(entries, async ({ name, type }): Promise<DirectoryEntry | undefined> => {
    const kind = kindOf(type);
    if (kind !== 'symlink') return { name, kind, isLink: false };
    const target = await targetKind(paths, joinPath(path, name));
    return target === undefined ? undefined : { name, kind: target, isLink: true };
  });
  return judged.filter((entry) => entry !== undefined);
}

/** The same, refused for a folder that has more entries than Codex's protocol lists. */
export async function readDirectoryWithinLimit(paths: Paths, path: NativePath): Promise<DirectoryEntry[]> {
  const entries = await readDirectory(paths, path);
  if (entries.length <= mostListedEntries) return entries;
  throw new FileError('failed', `fs/readDirectory returned ${entries.length} entries; limit is ${mostListedEntries}`);
}

async function targetKind(paths: Paths, path: NativePath): Promise<DirectoryEntry['kind'] | undefined> {
  try {
    const kind = kindOf(await paths.using(path, { links: 'follow', for: 'read' }, targetStats));
    return kind === 'symlink' ? undefined : kind;
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}

/** An entry itself, not what it leads to. */
export interface ListedEntry {
  readonly name: NativePath;
  readonly kind: FileKind;
  readonly size: number;
  readonly mode: number;
  readonly modifiedAtMs: number;
  /** Of a link: where it leads, as its text says. */
  readonly target?: NativePath;
}

export interface ListOptions {
  /** Only names after this one, in the order of their bytes. */
  readonly after?: NativePath;
  readonly limit: number;
}

export interface ListPage {
  /** Sorted by the bytes of the names. */
  readonly entries: readonly ListedEntry[];
  /** `after` for the next page; undefined at the end. */
  readonly next?: NativePath;
}

/** A page of a folder. Each page reads the folder anew, so it may be listed while it changes, by as many callers as there are. */
export async function listFolder(paths: Paths, path: NativePath, { after, limit }: ListOptions): Promise<ListPage> {
  return paths.using(path, { links: 'follow', for: 'read' }, async (place) =>
    withFolder(place, async (folder) => {
      const start = after === undefined ? '' : keyOf(after); // no name is empty
      const keys = (await keysIn(folder)).filter((key) => key > start).toSorted();
      const listed = await fewAtOnce(keys.slice(0, limit), async (key) => entryIn(folder, nameOf(key)));
      const last = keys.length > limit ? keys[limit - 1] : undefined;
      const entries = listed.filter((entry) => entry !== undefined);
      return last === undefined ? { entries } : { entries, next: nameOf(last) };
    }),
  );
}

/** Undefined when it is gone. */
export async function entryIn(folder: Folder, name: NativePath): Promise<ListedEntry | undefined> {
  const { path } = inFolder(folder, name);
  try {
    const stats = await lstat(path);
    const target = stats.isSymbolicLink() ? await readLink(path) : undefined;
    return { name, ...detailsOf(stats), ...(target === undefined ? {} : { target: nativePath(target) }) };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function detailsOf(stats: Stats): Omit<ListedEntry, 'name' | 'target'> {
  return { kind: kindOf(stats), size: stats.size, mode: stats.mode & 0o7777, modifiedAtMs: Math.trunc(stats.mtimeMs) };
}
