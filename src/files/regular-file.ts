// Opens files so that nothing waits: a FIFO or device is recognised and refused at once, and nothing is truncated before it is judged.

import { type Stats, closeSync, constants, fstatSync } from 'node:fs';
import { errnoOf, type FileError, refused } from './file-error.js';
import { open, truncate } from './fs-calls.js';
import type { Spot } from './place.js';

/** An open descriptor, which the caller closes, and what it is. */
export interface Opened {
  readonly fd: number;
  readonly stats: Stats;
}

export async function openToRead(place: Spot): Promise<Opened> {
  return openJudged(place, { flags: constants.O_RDONLY, accepts: (stats) => stats.isFile() });
}

/** Creates the file, with mode 0666 less the umask, or truncates it: the inode, the mode and the owner stay. */
export async function openToReplace(place: Spot, { devices }: { devices: 'accept' | 'refuse' }): Promise<Opened> {
  const opened = await openJudged(place, {
    flags: constants.O_WRONLY | constants.O_CREAT,
    accepts: (stats) => stats.isFile() || (devices === 'accept' && stats.isCharacterDevice()),
  });
  if (opened.stats.size === 0) return opened;
  try {
    await truncate(opened.fd, 0);
    return opened;
  } catch (error) {
    closeSync(opened.fd);
    throw error;
  }
}

async function openJudged(
  place: Spot,
  { flags, accepts }: { flags: number; accepts: (stats: Stats) => boolean },
): Promise<Opened> {
  const fd = await openWithoutWaiting(place, flags);
  let isKept = false;
  try {
    // Synchronous: the inode of an open file is in memory, and a turn of the thread pool costs more than the call.
    const stats = fstatSync(fd);
    if (!accepts(stats)) throw notAFile(place);
    isKept = true;
    return { fd, stats };
  } finally {
    if (!isKept) closeSync(fd);
  }
}

async function openWithoutWaiting(place: Spot, flags: number): Promise<number> {
  try {
    return await open(place.path, flags | place.openFlags | constants.O_NONBLOCK | constants.O_NOCTTY, 0o666);
  } catch (error) {
    // A socket, a FIFO that has no reader, or a device without a driver.
    throw errnoOf(error) === 'ENXIO' ? notAFile(place) : error;
  }
}

function notAFile({ shown }: Spot): FileError {
  return refused(`path \`${shown}\` is not a file`);
}
