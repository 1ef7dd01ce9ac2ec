// The system calls that answer from the kernel's memory or not at all, through koffi.

import { closeSync } from 'node:fs';
import { loadKoffi } from '../native/koffi.js';
import { O_CLOEXEC, O_PATH } from './fs-calls.js';
import { type NativePath, bytesOf } from './native-path.js';

/** A path that was found without waiting. The caller closes the descriptor, by which nothing can be read. */
export interface OpenedPath {
  readonly fd: number;
  /** S_IFREG and so on. */
  readonly kind: number;
  readonly size: number;
  /** Identifies the mount it is on. */
  readonly mount: string;
}

export interface CachedCalls {
  /** Follows links. Undefined when the path does not exist, when a part of it is not in memory, or when the use of a link must be noted. */
  openCached(path: NativePath): OpenedPath | undefined;
  mountOf(fd: number): string | undefined;
  /** Reads from the start of a file. Negative when that would have to wait, or the file system cannot tell. */
  readCached(fd: number, into: Buffer): number;
}

/** The same number on every architecture, as for all system calls since 2019. */
const openat2 = 437;

// fcntl.h, linux/openat2.h, linux/stat.h, linux/fs.h
const AT_FDCWD = -100;
const RESOLVE_CACHED = 0x20;
const AT_EMPTY_PATH = 0x1000;
const AT_STATX_DONT_SYNC = 0x4000;
const STATX_BASIC_STATS = 0x7ff;
const STATX_MNT_ID = 0x1000;
const STATX_MNT_ID_UNIQUE = 0x4000;
const RWF_NOWAIT = 0x8;
const S_IFMT = 0o170000;

/** Undefined on other systems, without koffi, and with a C library that lacks the functions. */
export function loadCachedCalls(): CachedCalls | undefined {
  const koffi = process.platform === 'linux' ? loadKoffi() : undefined;
  if (koffi === undefined) return undefined;
  try {
    return bind(koffi);
  } catch {
    return undefined;
  }
}

function bind(koffi: NonNullable<ReturnType<typeof loadKoffi>>): CachedCalls {
  const libc = koffi.load(null);
  const open = libc.func('long syscall(long number, int folder, const uint8_t *path, const uint64_t *how, size_t size)');
  const statx = libc.func('int statx(int fd, const char *path, int flags, unsigned int mask, _Out_ uint8_t *result)');
  const read = libc.func('long preadv2(int fd, const uint64_t *parts, int count, long offset, int flags)');
  const how = new BigUint64Array([BigInt(O_PATH | O_CLOEXEC), 0n, BigInt(RESOLVE_CACHED)]);
  const status = Buffer.alloc(256); // struct statx; used only within a call

  const describe = (fd: number): Omit<OpenedPath, 'fd'> | undefined => {
    const mask = STATX_BASIC_STATS | STATX_MNT_ID | STATX_MNT_ID_UNIQUE;
    if (Number(statx(fd, '', AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, status)) !== 0) return undefined;
    const isMountKnown = (status.readUInt32LE(0) & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE)) !== 0;
    if (!isMountKnown) return undefined;
    // The device too, because a mount's number may be used again on kernels without unique ones.
    const mount = `${status.readBigUInt64LE(144)} ${status.readUInt32LE(136)}:${status.readUInt32LE(140)}`;
    return { kind: status.readUInt16LE(28) & S_IFMT, size: Number(status.readBigUInt64LE(40)), mount };
  };

  return {
    openCached: (path) => {
      const fd = Number(open(openat2, AT_FDCWD, Buffer.concat([bytesOf(path), Buffer.of(0)]), how, how.byteLength));
      if (fd < 0) return undefined;
      const description = describe(fd);
      if (description !== undefined) return { fd, ...description };
      closeSync(fd);
      return undefined;
    },
    mountOf: (fd) => describe(fd)?.mount,
    readCached: (fd, into) => {
      const part = new BigUint64Array([koffi.address(into), BigInt(into.length)]); // struct iovec
      return Number(read(fd, part, 1, 0, RWF_NOWAIT));
    },
  };
}
