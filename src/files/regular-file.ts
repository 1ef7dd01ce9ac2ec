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

export async function openToRead(spot: Spot): Promise<Opened> {
  return openJudged(spot, { flags: constants.O_RDONLY, accepts: (stats) => stats.isFile() });
}

/** Creates the file, with mode 0666 less the umask, or truncates it: the inode, the mode and the owner stay. */
export async function openToReplace(spot: Spot, { devices }: { devices: 'accept' | 'refuse' }): Promise<Opened> {
  const opened = await openJudged(spot, {
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

/** The target of a copy, not truncated yet. A new file is for its owner only until the copy is complete. */
export async function openToOverwrite(spot: Spot, { existing }: { existing: 'overwrite' | 'refuse' }): Promise<Opened> {
  const flags = constants.O_WRONLY | constants.O_CREAT | (existing === 'refuse' ? constants.O_EXCL : 0);
  return openJudged(spot, { flags, mode: 0o600, accepts: (stats) => stats.isFile() });
}

interface OpenRules {
  readonly flags: number;
  /** Of a new file. */
  readonly mode?: number;
  readonly accepts: (stats: Stats) => boolean;
}

async function openJudged(spot: Spot, rules: OpenRules): Promise<Opened> {
  const fd = await openWithoutWaiting(spot, rules);
  let isKept = false;
  try {
    // Synchronous: the inode of an open file is in memory, and a turn of the thread pool costs more than the call.
    const stats = fstatSync(fd);
    if (!rules.accepts(stats)) throw notAFile(spot);
    isKept = true;
    return { fd, stats };
  } finally {
    if (!isKept) closeSync(fd);
  }
}

async function openWithoutWaiting(spot: Spot, { flags, mode = 0o666 }: OpenRules): Promise<number> {
  try {
    return await open(spot.path, flags | spot.openFlags | constants.O_NONBLOCK | constants.O_NOCTTY, mode);
  } catch (error) {
    // A socket, a FIFO that has no reader, or a device without a driver.
    throw errnoOf(error) === 'ENXIO' ? notAFile(spot) : error;
  }
}

function notAFile({ shown }: Spot): FileError {
  return refused(`path \`${shown}\` is not a file`);
}
