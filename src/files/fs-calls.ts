// The calls of node:fs that are made most often, on plain descriptors. Those of node:fs/promises take half as much time again, and their
// FileHandle more.

import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf } from './file-error.js';
import type { NativePath } from './native-path.js';

export const open: (path: NativePath, flags: number, mode?: number) => Promise<number> = promisify(fs.open);
export const close: (fd: number) => Promise<void> = promisify(fs.close);
export const lstat: (path: NativePath) => Promise<fs.Stats> = promisify(fs.lstat);
export const unlink: (path: NativePath) => Promise<void> = promisify(fs.unlink);
export const truncate: (fd: number, length: number) => Promise<void> = promisify(fs.ftruncate);

/** Flags of Linux that Node does not name. */
export const O_PATH = 0o10000000;
export const O_CLOEXEC = 0o2000000;

/** Undefined when there is no link of this name: something else, or nothing. */
export async function readLink(path: NativePath): Promise<Buffer | undefined> {
  try {
    return await fs.promises.readlink(path, { encoding: 'buffer' });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'EINVAL' && errno !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Reads until `into` is full or the end of the file is reached; returns how many bytes there were. */
export async function fill(fd: number, into: Uint8Array, position: number | null): Promise<number> {
  let count = 0;
  while (count < into.length) {
    const length = Math.min(longestTransfer, into.length - count);
    const bytesRead = await readSome(fd, into.subarray(count, count + length), position === null ? null : position + count);
    if (bytesRead === 0) break;
    count += bytesRead;
  }
  return count;
}

/** At most one system call. */
export async function readSome(fd: number, into: Uint8Array, position: number | null): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.read(fd, into, 0, into.length, position, (error, bytesRead) => (error === null ? resolve(bytesRead) : reject(error)));
  });
}

export async function writeAll(fd: number, bytes: Uint8Array, position: number | null): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const part = bytes.subarray(at, at + longestTransfer);
    const where = position === null ? null : position + at;
    at += await new Promise<number>((resolve, reject) => {
      fs.write(fd, part, 0, part.length, where, (error, written) => (error === null ? resolve(written) : reject(error)));
    });
  }
}

/** Bytes moved by one system call: it occupies one of the few threads of the pool for about a millisecond, not for a whole large file. */
const longestTransfer = 8 * 1024 * 1024;
