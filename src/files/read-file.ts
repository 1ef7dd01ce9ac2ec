// Reads a whole file into memory, within a budget that all such reads share.

import { closeSync } from 'node:fs';
import type { ByteBudget } from './byte-budget.js';
import { refused } from './file-error.js';
import { readSome } from './fs-calls.js';
import type { NativePath } from './native-path.js';
import type { Paths } from './paths.js';
import type { Spot } from './place.js';
import { type Opened, openToRead } from './regular-file.js';

/** The largest file that is read whole: what Codex reads. Larger ones are read in blocks. */
const mostWholeBytes = 512 * 1024 * 1024;

export interface WholeFile {
  readonly bytes: Uint8Array;
  /** Returns the bytes to the budget. Call it when they are no longer needed. */
  release(): void;
}

export interface ReadFileOptions {
  readonly links: 'follow' | 'refuse';
  readonly budget: ByteBudget;
  /** `mostWholeBytes` by default. */
  readonly mostBytes?: number;
}

/** A file that changes meanwhile is read to its end, wherever that is then. */
export async function readFile(paths: Paths, path: NativePath, options: ReadFileOptions): Promise<WholeFile> {
  return paths.using(path, { links: options.links, for: 'read' }, async (place) => {
    // Where a path is held, or must not contain links, it was found on the thread pool in any case.
    const isPlain = place.openFlags === 0;
    const cached = isPlain ? readCached(paths, place, options) : undefined;
    if (cached !== undefined) return cached;
    const opened = await openToRead(place);
    try {
      if (isPlain) await paths.cached.learn(opened.fd);
      return await readWhole(opened, options);
    } finally {
      closeSync(opened.fd); // nothing was written, so there is nothing to wait for
    }
  });
}

function readCached(
  paths: Paths,
  { path }: Spot,
  { budget, mostBytes = mostWholeBytes }: ReadFileOptions,
): WholeFile | undefined {
  const bytes = paths.cached.read(path);
  if (bytes === undefined || bytes.length > mostBytes) return undefined;
  const lease = budget.takeNow(bytes.length);
  return lease === undefined ? undefined : { bytes, release: () => lease.release() };
}

async function readWhole({ fd, stats }: Opened, { budget, mostBytes = mostWholeBytes }: ReadFileOptions): Promise<WholeFile> {
  if (stats.size > mostBytes) throw tooLarge(mostBytes);
  // One byte more than the file has: if the first read leaves it empty, that was the whole file, and no second read is needed.
  const expected = stats.size === 0 ? sizeOfUnknown : stats.size + 1;
  const lease = await budget.take(expected);
  try {
    let bytes = Buffer.allocUnsafe(expected);
    let length = 0;
    for (;;) {
      const count = await readSome(fd, bytes.subarray(length, length + longestRead), null);
      length += count;
      // The files of /proc end only when nothing is read, whatever their size says.
      if (count === 0 || (length === stats.size && length < bytes.length)) break;
      if (length > mostBytes) throw tooLarge(mostBytes);
      if (length < bytes.length) continue;
      lease.grow(bytes.length);
      bytes = Buffer.concat([bytes, Buffer.allocUnsafe(bytes.length)]);
    }
    return { bytes: bytes.subarray(0, length), release: () => lease.release() };
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** First buffer, in bytes, for a file without a size, such as those of /proc. Most are smaller. */
const sizeOfUnknown = 8 * 1024;

/** Bytes per read: keeps a thread of the pool busy for about a millisecond. */
const longestRead = 8 * 1024 * 1024;

function tooLarge(mostBytes: number): Error {
  return refused(`file is too large to read: limit is ${mostBytes} bytes`);
}
