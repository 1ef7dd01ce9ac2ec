// A real terminal without a process on it: the test plays the processes.

import assert from 'node:assert/strict';
import { constants, openSync, readSync } from 'node:fs';
import { loadLibc } from '#src/process/linux/libc.js';
import { errnoOf } from '#src/process/start/spawn-failure.js';

const flags = constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK;

/** Why this machine has no terminal to test with, or false if it has one. */
export const noTerminal = loadLibc() === undefined ? 'opening a terminal needs the Linux backend' : false;

export interface Terminal {
  readonly master: number;
  /** Path of the slave side, which processes see. */
  readonly path: string;
  /** Opens the slave side; a new descriptor with every call. */
  openSlave(): number;
}

/** Non-blocking, in the mode every terminal starts in. The caller closes the descriptors that it opens. */
export function openTerminal(): Terminal {
  const libc = loadLibc();
  assert.ok(libc);
  const master = openSync('/dev/ptmx', flags);
  const name = Buffer.alloc(128);
  assert.deepEqual([libc.unlockpt(master), libc.ptsname_r(master, name, name.length)], [0, 0]);
  const path = name.toString('latin1', 0, name.indexOf(0));
  return { master, path, openSlave: () => openSync(path, flags) };
}

/** What can be read now, as text; 'end of file' when a read returns 0 bytes; '' when there is nothing yet. */
export function readNow(fd: number): string {
  const buffer = Buffer.alloc(65_536);
  try {
    const length = readSync(fd, buffer);
    return length === 0 ? 'end of file' : buffer.toString('latin1', 0, length);
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN') return '';
    throw error;
  }
}
