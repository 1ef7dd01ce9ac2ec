// A new file that gets its name only when it is complete, in one step that replaces what had the name before. Until then it has no name
// where the file system allows that, so nothing is left of it when this program is killed.

import { closeSync, constants, linkSync, renameSync, unlinkSync } from 'node:fs';
import { constants as system } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { FileError, errnoOf, systemError } from './file-error.js';
import { type HeldFolder, shownKey, terminated } from './held-folder.js';
import type { Staging } from './staging.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDWR } = constants;

/** Together with O_DIRECTORY, this bit asks for an unnamed file in that folder. It is the same wherever Node runs on Linux. */
const unnamedFlags = 0o20000000 | O_DIRECTORY | O_RDWR;

/** How file systems without unnamed files, and kernels older than them, answer. */
const withoutUnnamed = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL', 'ENOENT']);

/** Of linkat: the descriptor itself is meant, the link is followed, the path is not relative to an opened folder. */
const atEmptyPath = 0x1000;
const emptyName = terminated('');
const atSymlinkFollow = 0x400;
const atCurrentFolder = -100;

export class StagedFile {
  /** Open for reading and writing. */
  readonly fd: number;
  readonly #folder: HeldFolder;
  readonly #staging: Staging;
  /** The temporary name that it has now. */
  #name: string | undefined;

  private constructor(folder: HeldFolder, fd: number, rest: { staging: Staging; name: string | undefined }) {
    this.fd = fd;
    this.#folder = folder;
    this.#staging = rest.staging;
    this.#name = rest.name;
  }

  /** `mode` is subject to the umask. The caller closes the file, before the folder. Without `publish`, nothing is left of it. */
  static open(folder: HeldFolder, { staging, mode }: { readonly staging: Staging; readonly mode: number }): StagedFile {
    if (folder.calls !== undefined && staging.kind === 'unnamed') {
      try {
        return new StagedFile(folder, folder.openFile('.', unnamedFlags, mode), { staging, name: undefined });
      } catch (error) {
        if (!withoutUnnamed.has(errnoOf(error) ?? '')) throw error;
      }
    }
    const name = staging.nameIn(folder);
    return new StagedFile(folder, folder.openFile(name, O_CREAT | O_EXCL | O_RDWR, mode), { staging, name });
  }

  /** Gives the file its name. `create` fails with EEXIST if the name is taken; `replace` fails if a folder has it. */
  publish(name: string, over: 'replace' | 'create'): void {
    if (this.#name === undefined) {
      if (this.#link(name) === 'linked') return;
      if (over === 'create') throw systemError('EEXIST', shownKey(name));
      // No call links an unnamed file over another one: it has a temporary name for the moment between these two calls.
      const temporary = this.#staging.nameIn(this.#folder);
      this.#link(temporary);
      this.#name = temporary;
    } else if (over === 'create') {
      linkSync(this.#folder.pathOf(this.#name), this.#folder.pathOf(name));
      return; // `close` removes the temporary name
    }
    renameSync(this.#folder.pathOf(this.#name), this.#folder.pathOf(name));
    this.#name = undefined;
  }

  close(): void {
    closeSync(this.fd);
    if (this.#name !== undefined) removeIfThere(this.#folder, this.#name);
    this.#name = undefined;
  }

  #link(name: string): 'linked' | 'taken' {
    const { calls, fd: folder } = this.#folder;
    if (calls === undefined) throw new Error('an unnamed file needs libc');
    const to = terminated(name);
    if (calls.linkat(this.fd, emptyName, folder, to, atEmptyPath) === 0) return 'linked';
    // Without privileges, kernels before 6.10 know the file only by its entry in /proc, which takes 5 µs longer.
    if (calls.errno() !== system.errno.EEXIST) {
      const from = terminated(`/proc/self/fd/${this.fd}`);
      if (calls.linkat(atCurrentFolder, from, folder, to, atSymlinkFollow) === 0) return 'linked';
    }
    if (calls.errno() === system.errno.EEXIST) return 'taken';
    const errno = getSystemErrorName(-calls.errno());
    throw new FileError('failed', `${errno}: cannot link "${shownKey(name)}"`, { errno });
  }
}

export function removeIfThere(folder: HeldFolder, name: string): void {
  try {
    unlinkSync(folder.pathOf(name));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
