// A folder held open while its tree is worked on: its entries are reached through it, whatever happens to the names above it meanwhile.

import { type Dirent, closeSync, constants, promises as fs } from 'node:fs';
import { folderPath } from './descent.js';
import { errnoOf } from './file-error.js';
import { open } from './fs-calls.js';
import { type NativePath, bytesOf, joinPath, nativePath } from './native-path.js';
import { type Spot, canHoldFolders, linkError } from './place.js';

export interface Folder {
  /** For node:fs: paths below it lead into this folder, even if it has been moved. */
  readonly path: NativePath;
  /** The path in texts for the caller. */
  readonly shown: string;
  close(): void;
}

/** What is no folder fails with ENOTDIR, a link that must not be followed with ELOOP. The caller closes the folder. */
export async function openFolder(spot: Spot): Promise<Folder> {
  const fd = await openDirectory(spot);
  if (canHoldFolders) return { path: folderPath(fd), shown: spot.shown, close: () => closeSync(fd) };
  closeSync(fd);
  return { path: spot.path, shown: spot.shown, close: () => {} };
}

async function openDirectory(spot: Spot): Promise<number> {
  try {
    return await open(spot.path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK | spot.openFlags);
  } catch (error) {
    // Linux answers the same for a link as for a file.
    if (errnoOf(error) !== 'ENOTDIR' || spot.openFlags === 0 || !(await fs.lstat(spot.path)).isSymbolicLink()) throw error;
    throw linkError(spot);
  }
}

/** Calls `act` with the folder and closes it. */
export async function withFolder<T>(spot: Spot, act: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await openFolder(spot);
  try {
    return await act(folder);
  } finally {
    folder.close();
  }
}

/** A name in a folder; a link there is not followed. */
export function inFolder(folder: Folder, name: NativePath): Spot {
  const shown = `${folder.shown}/${typeof name === 'string' ? name : name.toString()}`;
  return { path: joinPath(folder.path, name), openFlags: constants.O_NOFOLLOW, shown };
}

/** The entries with their kinds, in no order. */
export async function entriesIn(folder: Folder): Promise<{ readonly name: NativePath; readonly type: Dirent<Buffer> }[]> {
  const entries = await fs.readdir(folder.path, { encoding: 'buffer', withFileTypes: true });
  return entries.map((type) => ({ name: nativePath(type.name), type }));
}

/** The names as keys, in no order. Several times faster than `entriesIn`. */
export async function keysIn(folder: Folder): Promise<string[]> {
  return fs.readdir(folder.path, { encoding: 'latin1' });
}

/** A key has one character for each byte of a name, so keys compare as the bytes do. */
export function keyOf(name: NativePath): string {
  return bytesOf(name).toString('latin1');
}

export function nameOf(key: string): NativePath {
  return isAscii.test(key) ? key : nativePath(Buffer.from(key, 'latin1'));
}

// oxlint-disable-next-line no-control-regex -- every byte below 0x80 is the same in UTF-8
const isAscii = /^[\u0000-\u007f]*$/;
