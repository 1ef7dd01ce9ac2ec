// Copies one regular file by two open descriptors, so that what is copied is what was judged.

import { type Stats, closeSync, constants, fchmodSync, fchownSync, futimesSync, promises as fs } from 'node:fs';
import { folderPath } from './descent.js';
import { errnoOf, refused } from './file-error.js';
import { type Spot, canHoldFolders } from './place.js';
import { openToOverwrite, openToRead } from './regular-file.js';

/** What a copy keeps besides the contents and the mode. */
export type Kept = 'mode' | 'modeOwnerAndTimes';

export interface CopyFileOptions {
  /** `overwrite` keeps the inode of a file that exists. */
  readonly existing: 'overwrite' | 'refuse';
  readonly keep: Kept;
}

/** Returns the bytes copied. */
export async function copyFile(from: Spot, to: Spot, { existing, keep }: CopyFileOptions): Promise<number> {
  const source = await openToRead(from);
  try {
    const target = await openToOverwrite(to, { existing });
    try {
      if (isSameFile(source.stats, target.stats)) throw refused(`"${to.shown}" is the file that is to be copied there`);
      await transfer({ fd: source.fd, path: from.path }, { fd: target.fd, path: to.path });
      fchmodSync(target.fd, source.stats.mode & 0o7777);
      if (keep === 'modeOwnerAndTimes') keepOwnerAndTimes(target.fd, source.stats);
    } finally {
      closeSync(target.fd);
    }
    return source.stats.size;
  } finally {
    closeSync(source.fd);
  }
}

function isSameFile(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** The kernel moves the bytes, sharing blocks where the file system can. Truncates the target first. */
async function transfer(from: { fd: number; path: Spot['path'] }, to: { fd: number; path: Spot['path'] }): Promise<void> {
  const isHeld = canHoldFolders;
  await fs.copyFile(isHeld ? folderPath(from.fd) : from.path, isHeld ? folderPath(to.fd) : to.path, constants.COPYFILE_FICLONE);
}

/** Only root may give a file away; for others it stays their own. */
function keepOwnerAndTimes(fd: number, { uid, gid, mode, atimeMs, mtimeMs }: Stats): void {
  try {
    fchownSync(fd, uid, gid);
    fchmodSync(fd, mode & 0o7777); // a change of owner clears set-user-ID
  } catch (error) {
    if (errnoOf(error) !== 'EPERM') throw error;
  }
  futimesSync(fd, atimeMs / 1000, mtimeMs / 1000);
}
