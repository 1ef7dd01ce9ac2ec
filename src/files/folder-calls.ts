// The libc functions that act relative to an opened folder and that Node does not offer, called through koffi.

import { isMainThread } from 'node:worker_threads';
import { loadKoffi } from '../native/koffi.js';

export interface FolderCalls {
  /** Names are bytes that end in NUL. Returns -1 on failure. */
  openat(folder: number, name: Uint8Array, flags: number, mode: number): number;
  linkat(fromFolder: number, from: Uint8Array, toFolder: number, to: Uint8Array, flags: number): number;
  flistxattr(fd: number, list: Uint8Array, size: number): number;
  fgetxattr(fd: number, name: Uint8Array, value: Uint8Array, size: number): number;
  fsetxattr(fd: number, name: Uint8Array, value: Uint8Array, size: number, flags: number): number;
  /** Of the last call. */
  errno(): number;
}

/** Undefined on other systems, where koffi is not installed, and in worker threads, which warn of every descriptor that Node did not open. */
export function folderCalls(): FolderCalls | undefined {
  if (process.platform !== 'linux' || !isMainThread) return undefined;
  binding ??= { calls: bind() };
  return binding.calls;
}

/** Binding takes longer than a call, so it is done once. */
let binding: { readonly calls: FolderCalls | undefined } | undefined;

function bind(): FolderCalls | undefined {
  const koffi = loadKoffi();
  if (koffi === undefined) return undefined;
  const libc = koffi.load(null); // the program itself, which works for glibc and musl alike
  return {
    openat: libc.func('int openat(int folder, const void *name, int flags, uint mode)'),
    linkat: libc.func('int linkat(int fromFolder, const void *from, int toFolder, const void *to, int flags)'),
    flistxattr: libc.func('int64_t flistxattr(int fd, void *list, size_t size)'),
    fgetxattr: libc.func('int64_t fgetxattr(int fd, const void *name, void *value, size_t size)'),
    fsetxattr: libc.func('int fsetxattr(int fd, const void *name, const void *value, size_t size, int flags)'),
    errno: () => koffi.errno(),
  };
}
