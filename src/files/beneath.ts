// openat2, through koffi: one system call that opens a folder below another one and cannot be led out of it by any link or "..".
// Its failures are not explained: the descent, component by component, then decides.

import { loadKoffi } from '../native/koffi.js';
import { O_CLOEXEC, O_PATH } from './fs-calls.js';
import { constants } from 'node:fs';
import { bytesOf, type NativePath } from './native-path.js';

/** Opens the folder at `path`, which is relative to the folder `root`. Undefined when the kernel does not, for whatever reason. */
export type OpenBeneath = (root: number, path: NativePath, links: 'parents' | 'refuse') => Promise<number | undefined>;

/** The same number on every architecture, as for all system calls since 2019. */
const openat2 = 437;

// linux/openat2.h
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_BENEATH = 0x08;
const sizeOfHow = 24;

/** Where koffi is missing, the kernel too old, or the call denied by a filter, every call returns undefined. */
export function loadOpenBeneath(): OpenBeneath {
  const koffi = process.platform === 'linux' ? loadKoffi() : undefined;
  if (koffi === undefined) return async () => Promise.resolve(undefined);
  const syscall = koffi
    .load(null)
    .func('long syscall(long number, int folder, const uint8_t *path, const uint64_t *how, size_t size)');
  const flags = BigInt(O_PATH | O_CLOEXEC | constants.O_DIRECTORY);
  const follow = new BigUint64Array([flags, 0n, BigInt(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)]);
  const refuse = new BigUint64Array([flags, 0n, BigInt(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)]);
  return async (root, path, links) =>
    new Promise((resolve) => {
      const text = Buffer.concat([bytesOf(path), Buffer.of(0)]);
      const how = links === 'refuse' ? refuse : follow;
      // Not called synchronously, although that takes 4 µs: a file system that hangs would hang the whole program.
      syscall.async(openat2, root, text, how, sizeOfHow, (error: unknown, fd: unknown) => {
        resolve(error === null && Number(fd) >= 0 ? Number(fd) : undefined);
      });
    });
}
