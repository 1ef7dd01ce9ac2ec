// A folder held open while it is looked at, so that all that is seen belongs to the same folder, even if a link takes its place meanwhile.

import { type Stats, closeSync, constants, fstat } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { folderPath } from '../descent.js';
import { fewAtOnce } from '../few-at-once.js';
import { errnoOf } from '../file-error.js';
import { open } from '../fs-calls.js';
import { type NativePath, bytesOf } from '../native-path.js';
import { canHoldFolders } from '../place.js';
import { type Facts, factsOf } from './known-tree.js';

/** Whether a folder may be looked at, by its real path. It is asked after opening the folder, so no later change can mislead it. */
export type IsInside = (realPath: Buffer) => boolean;

/** System errors which mean that an entry is not there, or something else is. */
const absentErrors = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);

/** System errors which concern one entry and do not keep others from being watched: permissions, a path that is too long, a dead mount. */
const unreadableErrors = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'EIO', 'ENOTCONN']);

/** The caller closes it. `links` is about the last name of the path. */
export async function openFolder(
  path: Buffer,
  links: 'follow' | 'refuse',
  isInside: IsInside | undefined,
): Promise<OpenedFolder | 'absent' | 'unreadable'> {
  const flags =
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK | (links === 'refuse' ? constants.O_NOFOLLOW : 0);
  let fd: number;
  try {
    fd = await open(path, flags);
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (absentErrors.has(errno)) return 'absent';
    if (unreadableErrors.has(errno)) return 'unreadable';
    throw error;
  }
  try {
    const ownPath = canHoldFolders ? folderPath(fd) : path;
    const stats = await statOf(fd);
    const isAllowed = isInside === undefined || isInside(await realPath(ownPath));
    if (isAllowed && stats.nlink > 0) return new OpenedFolder(fd, ownPath, factsOf(stats));
    closeSync(fd);
    return stats.nlink === 0 ? 'absent' : 'unreadable';
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

async function realPath(path: NativePath): Promise<Buffer> {
  return canHoldFolders ? readlink(path, { encoding: 'buffer' }) : realpath(path, { encoding: 'buffer' });
}

const statOf: (fd: number) => Promise<Stats> = promisify(fstat);

export class OpenedFolder {
  readonly descriptor: number;
  readonly facts: Facts;
  /** Leads to this folder while it is open. */
  readonly #path: NativePath;

  constructor(descriptor: number, path: NativePath, facts: Facts) {
    this.descriptor = descriptor;
    this.#path = path;
    this.facts = facts;
  }

  /** The bytes of each name as characters. */
  async names(): Promise<string[]> {
    return readdir(this.#path, { encoding: 'latin1' });
  }

  /** In the order of the names; undefined for what is not there. */
  async look(names: readonly string[]): Promise<(Facts | undefined)[]> {
    const prefix = bytesOf(this.#path).toString('latin1');
    return fewAtOnce(names, async (name) => lookAt(Buffer.from(`${prefix}/${name}`, 'latin1')));
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

async function lookAt(path: Buffer): Promise<Facts | undefined> {
  try {
    return factsOf(await lstat(path));
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (absentErrors.has(errno) || unreadableErrors.has(errno)) return undefined;
    throw error;
  }
}
