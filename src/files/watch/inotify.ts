// Binds inotify and what is needed to read its events on Node's event loop. Knows nothing about folders or watches.

import { closeSync, existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { endianness } from 'node:os';
import { getSystemErrorName } from 'node:util';
import type { Clock, Timer } from '../../base/clock.js';
import { loadKoffi } from '../../native/koffi.js';
import { FileError } from '../file-error.js';

export interface Inotify {
  inotify_init1(flags: number): number;
  inotify_add_watch(fd: number, path: string, mask: number): number;
  inotify_rm_watch(fd: number, descriptor: number): number;
  pipe2(fds: Int32Array, flags: number): number;
  dup3(from: number, to: number, flags: number): number;
  /** Of the last call, such as `ENOSPC`. */
  errno(): string;
}

/** Undefined where inotify, koffi or /proc is missing: folders are then polled. */
export function loadInotify(): Inotify | undefined {
  // The numbers below and the layout of an event are those of Linux on little-endian machines.
  if (process.platform !== 'linux' || endianness() !== 'LE' || !existsSync('/proc/self/fd')) return undefined;
  const koffi = loadKoffi();
  if (koffi === undefined) return undefined;
  const libc = koffi.load(null);
  return {
    inotify_init1: libc.func('int inotify_init1(int flags)'),
    inotify_add_watch: libc.func('int inotify_add_watch(int fd, const char *path, uint32_t mask)'),
    inotify_rm_watch: libc.func('int inotify_rm_watch(int fd, int wd)'),
    pipe2: libc.func('int pipe2(_Out_ int *fds, int flags)'),
    dup3: libc.func('int dup3(int from, int to, int flags)'),
    errno: () => getSystemErrorName(-koffi.errno()),
  };
}

/** O_CLOEXEC | O_NONBLOCK, which are also IN_CLOEXEC | IN_NONBLOCK. */
const descriptorFlags = 0o2000000 | 0o4000;
const closeOnExec = 0o2000000;

/** One read takes up to 2 000 events with short names. */
const readBytes = 64 * 1024;

/**
 * From a read that did not fill half the buffer to the next one. Without this, a program that writes a file in small steps would cause a
 * read for each of them; meanwhile the kernel merges them into one event. Its queue of 16 384 events lasts much longer than this.
 */
const readPauseMs = 5;

export interface InotifyDescriptor {
  readonly fd: number;
  close(): void;
}

/**
 * Opens an inotify descriptor whose events are passed to `read`, which must not keep the buffer. It keeps the program alive.
 *
 * Node accepts no inotify descriptor as a socket, although its event loop could wait for one as for a pipe, and reading it in any other
 * way blocks a thread. So a socket is opened on a pipe, and the inotify descriptor then takes the place of the pipe under its number.
 */
export function openInotify(inotify: Inotify, clock: Clock, read: (events: Buffer) => void): InotifyDescriptor {
  const opened = inotify.inotify_init1(descriptorFlags);
  if (opened < 0) throw inotifyError(inotify.errno());
  const pipe = new Int32Array(2);
  if (inotify.pipe2(pipe, descriptorFlags) < 0) {
    const errno = inotify.errno();
    closeSync(opened);
    throw inotifyError(errno);
  }
  const [fd = -1, writeEnd = -1] = pipe;
  let pause: Timer | undefined;
  const onread = {
    buffer: Buffer.alloc(readBytes),
    callback: (length: number, buffer: Uint8Array) => {
      read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      if (length > readBytes / 2) return true;
      pause = clock.after(readPauseMs, () => socket.resume());
      return false;
    },
  };
  const options = { fd, readable: true, writable: false, onread };
  const socket = new Socket(options);
  inotify.dup3(opened, fd, closeOnExec);
  closeSync(opened);
  closeSync(writeEnd);
  socket.resume();
  const close = (): void => {
    pause?.cancel();
    socket.destroy();
  };
  return { fd, close };
}

/** In words that name the setting to change. */
export function inotifyError(errno: string): FileError {
  return new FileError('failed', `${errno}: ${problemOf(errno)}`, { errno });
}

function problemOf(errno: string): string {
  switch (errno) {
    case 'ENOSPC':
      return 'this user watches as many folders as the kernel allows; raise the sysctl fs.inotify.max_user_watches, or watch fewer folders';
    case 'EMFILE':
      return 'too many inotify instances or open files; raise the sysctl fs.inotify.max_user_instances, or the limit of open files';
    default:
      return 'the kernel cannot watch the folder';
  }
}
