// Packs a tree as a tar archive that is read piece by piece: nothing is read from disk before the consumer asks for it. Files with several
// names (hard links) are packed once for each name. Knows nothing of where the archive goes.

import { type Stats, closeSync, constants, fstatSync, lstatSync, readSync, readlinkSync } from 'node:fs';
import { FileError, errnoOf, fileErrorOf, namingPath } from '../file-error.js';
import { nameOf } from '../folder.js';
import { readSome } from '../fs-calls.js';
import { shownKey } from '../held-folder.js';
import type { NativePath } from '../native-path.js';
import type { Spot } from '../place.js';
import { HeldWalk, type WalkedEntry, openTree } from './held-walk.js';
import { modifiedAtUs } from './modified-time.js';
import { Slice } from './slice.js';
import { blockBytes, paddingOf } from './tar-format.js';
import { type EntryHeader, longestHeader, writeHeader } from './tar-writer.js';
import { type TreeProgress, type TreeResult, TreeTally } from './tree-result.js';

export interface PackOptions {
  /** Leaves an entry out, and all below it; the path is relative to the tree. */
  readonly exclude?: ((path: NativePath) => boolean) | undefined;
  /** Called for each chunk. */
  readonly onProgress?: ((progress: TreeProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of a chunk, at most. Passing it on costs little for each file in it; larger ones take longer, as the allocator keeps none. */
const chunkBytes = 128 * 1024;

/** Bytes up to which a file is read synchronously, whole: about 10 µs from memory. */
export const smallFile = 32 * 1024;

const readFlags = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Returns the result after the last chunk. Sockets, FIFOs, devices and what vanishes meanwhile are skipped, and the result says so. A file
 * that gets longer is packed as long as it was; one that gets shorter fails the whole, since its length has been announced already.
 */
export async function* packTree(source: Spot, options: PackOptions = {}): AsyncGenerator<Uint8Array, TreeResult> {
  const tally = new TreeTally();
  const chunk = new Chunk();
  const slice = new Slice();
  const finished = (): Uint8Array => {
    const bytes = chunk.take();
    tally.hash(bytes);
    options.onProgress?.(tally.progress());
    return bytes;
  };
  const root = openTree(source);
  const walk = new HeldWalk(root);
  try {
    chunk.add({ kind: 'folder', path: '.', size: 0, ...metadataOf(fstatSync(root.fd)) });
    for (let entry = walk.next(); entry !== undefined; entry = walk.next()) {
      options.signal?.throwIfAborted();
      if (slice.isOver()) await slice.next();
      if (options.exclude?.(nameOf(entry.path)) === true) continue;
      if (chunk.room < longestHeader + entry.path.length + smallFile) yield finished();
      tally.path = entry.path;
      const large = packEntry(entry, { walk, chunk, tally });
      if (large === undefined) continue;
      try {
        for (let left = large.size; left > 0;) {
          if (chunk.room === 0) yield finished();
          options.signal?.throwIfAborted();
          const count = await namingPath(shownKey(entry.path), async () => chunk.read(large.fd, left));
          if (count === 0) throw shrunk(entry, large.size, left);
          tally.bytes += count;
          left -= count;
        }
        if (chunk.room < blockBytes) yield finished();
        chunk.pad(large.size);
      } finally {
        closeSync(large.fd);
      }
    }
    if (chunk.room < 2 * blockBytes) yield finished();
    chunk.end();
    yield finished();
    return tally.result();
  } finally {
    walk.close();
  }
}

interface Packing {
  readonly walk: HeldWalk;
  readonly chunk: Chunk;
  readonly tally: TreeTally;
}

/** Returns a file that is too large for a synchronous read: its header is packed; its contents are left, and to close it. */
function packEntry(entry: WalkedEntry, packing: Packing): { readonly fd: number; readonly size: number } | undefined {
  const { chunk, tally, walk } = packing;
  try {
    switch (entry.kind) {
      case 'file':
        return packFile(entry, packing);
      case 'folder':
        chunk.add({ kind: 'folder', path: entry.path, size: 0, ...metadataOf(fstatSync(walk.enter(entry).fd)) });
        tally.folders += 1;
        return undefined;
      case 'link': {
        const path = entry.folder.pathOf(entry.name);
        const target = readlinkSync(path, { encoding: 'latin1' });
        chunk.add({ kind: 'link', path: entry.path, size: 0, target, ...metadataOf(lstatSync(path)) });
        tally.links += 1;
        return undefined;
      }
      case 'fifo':
      case 'socket':
      case 'device':
        tally.skip(entry.path, entry.kind);
        return undefined;
    }
  } catch (error) {
    if (!goneErrors.has(errnoOf(error) ?? '')) throw fileErrorOf(error, shownKey(entry.path));
    tally.skip(entry.path, 'vanished');
    return undefined;
  }
}

/** The entry was removed, or is of another kind by now. */
const goneErrors = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO']);

function packFile(entry: WalkedEntry, { chunk, tally }: Packing): { readonly fd: number; readonly size: number } | undefined {
  const fd = entry.folder.openFile(entry.name, readFlags);
  let isLarge = false;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      tally.skip(entry.path, 'vanished');
      return undefined;
    }
    const header = { kind: 'file', path: entry.path, size: stats.size, ...metadataOf(stats) } as const;
    isLarge = stats.size > smallFile;
    if (isLarge) chunk.add(header);
    else tally.bytes += chunk.addFile(header, fd);
    tally.files += 1;
    return isLarge ? { fd, size: stats.size } : undefined;
  } finally {
    if (!isLarge) closeSync(fd);
  }
}

function metadataOf(stats: Stats): Pick<EntryHeader, 'mode' | 'uid' | 'gid' | 'modifiedAtUs'> {
  return { mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid, modifiedAtUs: modifiedAtUs(stats) };
}

function shrunk(entry: WalkedEntry, size: number, left: number): FileError {
  const words = `it had ${size} bytes and then ended after ${size - left}`;
  return new FileError('failed', `"${shownKey(entry.path)}" became shorter while it was packed: ${words}`);
}

/** The piece of the archive that is being filled. Callers check its room first. */
class Chunk {
  #bytes = Buffer.allocUnsafeSlow(chunkBytes);
  #used = 0;

  get room(): number {
    return chunkBytes - this.#used;
  }

  add(header: EntryHeader): void {
    this.#used = writeHeader(this.#bytes, this.#used, header);
  }

  /** Adds a small file whole; returns the bytes of its contents, fewer if it got shorter since. */
  addFile(header: EntryHeader, fd: number): number {
    const start = writeHeader(this.#bytes, this.#used, header);
    let end = start;
    for (let count = 1; count > 0 && end - start < header.size; end += count) {
      count = readSync(fd, this.#bytes, end, header.size - (end - start), null);
    }
    const size = end - start;
    if (size < header.size) writeHeader(this.#bytes, this.#used, { ...header, size });
    this.#used = end;
    this.pad(size);
    return size;
  }

  /** Reads as much as there is room for; returns the number of bytes, 0 at the end of the file. */
  async read(fd: number, most: number): Promise<number> {
    const count = await readSome(fd, this.#bytes.subarray(this.#used, this.#used + Math.min(most, this.room)), null);
    this.#used += count;
    return count;
  }

  pad(size: number): void {
    const end = this.#used + paddingOf(size);
    this.#bytes.fill(0, this.#used, end);
    this.#used = end;
  }

  /** The mark that ends an archive. */
  end(): void {
    this.#bytes.fill(0, this.#used, this.#used + 2 * blockBytes);
    this.#used += 2 * blockBytes;
  }

  /** What was filled, which is the caller's now; goes on with new memory. */
  take(): Uint8Array {
    const filled = this.#bytes.subarray(0, this.#used);
    this.#bytes = Buffer.allocUnsafeSlow(chunkBytes);
    this.#used = 0;
    return filled;
  }
}
