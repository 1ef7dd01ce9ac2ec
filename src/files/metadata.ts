// What is known about a file without opening it.

import { type Stats, promises as fs } from 'node:fs';
import { refused } from './file-error.js';
import { lstat, readLink } from './fs-calls.js';
import { type NativePath, nativePath } from './native-path.js';
import type { Paths } from './paths.js';
import { type Spot, linkError } from './place.js';

export type FileKind = 'file' | 'directory' | 'symlink' | 'other';

export interface Metadata {
  readonly kind: FileKind;
  /** Whether the path itself is a link, also when everything else is about its target. */
  readonly isLink: boolean;
  readonly size: number;
  /** The permission bits, with set-user-ID, set-group-ID and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly inode: number;
  readonly device: number;
  /** How many names it has. */
  readonly links: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAtMs: number;
  readonly createdAtMs: number;
  /** Of a link: where it leads, as its text says. */
  readonly target?: NativePath;
}

export interface MetadataOptions {
  /** `follow`: about what the path leads to. `parents`: about a link itself. */
  readonly links: 'follow' | 'parents' | 'refuse';
}

export async function metadata(paths: Paths, path: NativePath, { links }: MetadataOptions): Promise<Metadata> {
  const own = await paths.using(path, { links: links === 'follow' ? 'parents' : links, for: 'read' }, async (place) => {
    const stats = await lstat(place.path);
    if (!stats.isSymbolicLink()) return metadataOf(stats);
    if (links === 'refuse') throw refused('path contains a symbolic link');
    const target = links === 'parents' ? await readLink(place.path) : undefined;
    return { ...metadataOf(stats), ...(target === undefined ? {} : { target: nativePath(target) }) };
  });
  if (!own.isLink || links !== 'follow') return own;
  const target = await paths.using(path, { links: 'follow', for: 'read' }, targetStats);
  return { ...metadataOf(target), isLink: true };
}

/** About the end of the links at a place that was sought with links followed. */
export async function targetStats(place: Spot): Promise<Stats> {
  if (place.openFlags === 0) return fs.stat(place.path);
  const stats = await lstat(place.path);
  if (stats.isSymbolicLink()) throw linkError(place);
  return stats;
}

export function metadataOf(stats: Stats): Metadata {
  return {
    kind: kindOf(stats),
    isLink: stats.isSymbolicLink(),
    size: stats.size,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
    inode: stats.ino,
    device: stats.dev,
    links: stats.nlink,
    modifiedAtMs: Math.trunc(stats.mtimeMs),
    createdAtMs: Math.trunc(stats.birthtimeMs),
  };
}

/** For Stats and for the entries of a folder. */
export function kindOf(entry: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): FileKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

/** The path without links; every component must exist. */
export async function canonicalise(paths: Paths, path: NativePath): Promise<NativePath> {
  if (paths.roots === undefined) {
    return paths.using(path, { links: 'follow', for: 'read' }, async (place) =>
      nativePath(await fs.realpath(place.path, { encoding: 'buffer' })),
    );
  }
  const real = await paths.realPath(path);
  await paths.using(real, { links: 'parents', for: 'read' }, async (place) => lstat(place.path));
  return real;
}
