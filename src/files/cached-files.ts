// Reads small files at once, on the event loop, when the kernel has them in memory: the thread pool takes ten times as long. No call here
// waits for a disk or a network; where one would have to, the caller takes the slow way.

import { closeSync, constants, openSync, readSync, promises as fs } from 'node:fs';
import { type CachedCalls, type OpenedPath, loadCachedCalls } from './cached-calls.js';
import { folderPath } from './descent.js';
import { errnoOf } from './file-error.js';
import type { NativePath } from './native-path.js';

/** Larger files are read on the thread pool: copying 64 KiB takes about 10 µs, during which nothing else is served. */
const mostBytes = 64 * 1024;

/** Mounts whose file system is remembered. A machine has tens. */
const mostMounts = 1024;

/**
 * How a file system is read without waiting. Opening a file on a local one takes only memory; on others, such as those of a network or of
 * a program, it may wait for ever.
 * - `memory`: everything is in memory
 * - `disk`: the kernel is asked for what it has in memory
 */
type Medium = 'memory' | 'disk' | 'unknown';

/** By the numbers in linux/magic.h. */
const media: ReadonlyMap<number, Medium> = new Map([
  [0x01021994, 'memory'], // tmpfs
  [0xef53, 'disk'], // ext2, ext3, ext4
  [0x58465342, 'disk'], // XFS
  [0x9123683e, 'disk'], // Btrfs
]);

export class CachedFiles {
  readonly #mounts = new Map<string, Medium>();
  #calls: CachedCalls | undefined;
  #areCallsLoaded = false;

  /** The contents of a regular file; undefined when they cannot be read without waiting. */
  read(path: NativePath): Buffer | undefined {
    const calls = this.#load();
    const opened = calls?.openCached(path);
    if (calls === undefined || opened === undefined) return undefined;
    try {
      const medium = this.#mounts.get(opened.mount) ?? 'unknown';
      if (medium === 'unknown' || opened.kind !== constants.S_IFREG || opened.size === 0 || opened.size > mostBytes)
        return undefined;
      return readOpened(calls, opened, medium);
    } finally {
      closeSync(opened.fd);
    }
  }

  /** Finds out about the file system of an open file, for later reads. Waits only the first time. */
  async learn(fd: number): Promise<void> {
    const mount = this.#load()?.mountOf(fd);
    if (mount === undefined || this.#mounts.has(mount)) return;
    if (this.#mounts.size >= mostMounts) this.#mounts.clear();
    this.#mounts.set(mount, 'unknown'); // until the answer is there
    try {
      const { type } = await fs.statfs(folderPath(fd));
      this.#mounts.set(mount, media.get(type) ?? 'unknown');
    } catch (error) {
      if (errnoOf(error) === undefined) throw error; // otherwise it stays unknown, and is read the slow way
    }
  }

  #load(): CachedCalls | undefined {
    if (!this.#areCallsLoaded) this.#calls = loadCachedCalls();
    this.#areCallsLoaded = true;
    return this.#calls;
  }
}

function readOpened(calls: CachedCalls, { fd: found, size }: OpenedPath, medium: 'memory' | 'disk'): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(folderPath(found), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined; // the slow way fails for the same reason, and says so
  }
  try {
    const bytes = Buffer.allocUnsafe(size + 1); // one more shows that the file has grown
    const count = medium === 'memory' ? readSync(fd, bytes, 0, bytes.length, 0) : calls.readCached(fd, bytes);
    return count === size ? bytes.subarray(0, size) : undefined;
  } finally {
    closeSync(fd);
  }
}
