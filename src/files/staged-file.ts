// A new file that gets its name only when it is complete, in one step that replaces what had the name before. Until then it has no name
// at all where the file system allows that, so nothing is left of it when this program is killed; elsewhere a temporary one.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, linkSync, renameSync, unlinkSync } from 'node:fs';
import { constants as system } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { nameOf } from './folder.js';
import { FileError, errnoOf, systemError } from './file-error.js';
import { type NativePath, joinPath } from './native-path.js';
import { type OpenedFolder, shownKey, terminated } from './opened-folder.js';

/** Learns of temporary names before they exist, so that they can be removed if this program is killed: see replace-guard.ts. */
export interface TemporaryNames {
  /** Absolute. The file must not be made before this returns. */
  add(path: NativePath): void;
  remove(path: NativePath): void;
}

/** `unnamed` becomes `named` where the file system has no unnamed files. */
export type StagingKind = 'unnamed' | 'named';

export interface StagingOptions {
  readonly kind?: StagingKind;
  readonly names?: TemporaryNames | undefined;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_RDWR } = constants;

/** Together with O_DIRECTORY: an unnamed file in that folder. The same number on every architecture that Node runs on. */
const unnamedFlags = 0o20000000 | O_DIRECTORY | O_RDWR;

/** How file systems without unnamed files, and kernels older than them, answer. */
const withoutUnnamed = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL', 'ENOENT']);

/** Of linkat: the descriptor itself is meant, the link is followed, the path is not relative to an opened folder. */
const atEmptyPath = 0x1000;
const atSymlinkFollow = 0x400;
const atCurrentFolder = -100;

/** Bytes of the file's own name in its temporary name; with the rest it stays below the 255 bytes that file systems allow. */
const longestStem = 200;

/** Bytes of randomness in a temporary name. Two writers of one file get the same one never in practice, and fail if they do. */
const randomLength = 6;

interface TemporaryName {
  readonly name: string;
  /** Absolute, as `TemporaryNames` has it; undefined if nothing keeps a list. */
  readonly path: NativePath | undefined;
}

export class StagedFile {
  /** Open for reading and writing. */
  readonly fd: number;
  readonly #folder: OpenedFolder;
  readonly #names: TemporaryNames | undefined;
  #temporary: TemporaryName | undefined;

  private constructor(folder: OpenedFolder, fd: number, rest: Pick<StagingOptions, 'names'> & { temporary?: TemporaryName }) {
    this.fd = fd;
    this.#folder = folder;
    this.#names = rest.names;
    this.#temporary = rest.temporary;
  }

  /**
   * `name` is the one it will get; `mode` is subject to the umask. The caller closes the file before the folder; without `publish`,
   * nothing is left of it.
   */
  static open(folder: OpenedFolder, name: string, options: StagingOptions & { readonly mode: number }): StagedFile {
    const { names } = options;
    if (folder.calls !== undefined && options.kind !== 'named') {
      try {
        return new StagedFile(folder, folder.openFile('.', unnamedFlags, options.mode), { names });
      } catch (error) {
        if (!withoutUnnamed.has(errnoOf(error) ?? '')) throw error;
      }
    }
    const temporary = announcedName(folder, { like: name, names });
    try {
      const fd = folder.openFile(temporary.name, O_CREAT | O_EXCL | O_RDWR, options.mode);
      return new StagedFile(folder, fd, { temporary, names });
    } catch (error) {
      if (temporary.path !== undefined) names?.remove(temporary.path);
      throw error;
    }
  }

  /** Gives the file its name. `create` fails with EEXIST if the name is taken; `replace` fails if a folder has it. */
  publish(name: string, over: 'replace' | 'create'): void {
    if (this.#temporary === undefined) {
      if (this.#link(name) === 'linked') return;
      if (over === 'create') throw systemError('EEXIST', shownKey(name));
      // There is no call that links an unnamed file over another one: a temporary name, for the moment between these two calls.
      this.#temporary = announcedName(this.#folder, { like: name, names: this.#names });
      this.#link(this.#temporary.name);
    } else if (over === 'create') {
      linkSync(this.#folder.pathOf(this.#temporary.name), this.#folder.pathOf(name));
      return; // `close` removes the temporary name
    }
    renameSync(this.#folder.pathOf(this.#temporary.name), this.#folder.pathOf(name));
    this.#forgetTemporary();
  }

  close(): void {
    closeSync(this.fd);
    if (this.#temporary === undefined) return;
    try {
      unlinkSync(this.#folder.pathOf(this.#temporary.name));
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
    this.#forgetTemporary();
  }

  #forgetTemporary(): void {
    if (this.#temporary?.path !== undefined) this.#names?.remove(this.#temporary.path);
    this.#temporary = undefined;
  }

  #link(name: string): 'linked' | 'taken' {
    const { calls, fd: folder } = this.#folder;
    if (calls === undefined) throw new Error('an unnamed file needs libc');
    const to = terminated(name);
    if (calls.linkat(this.fd, terminated(''), folder, to, atEmptyPath) === 0) return 'linked';
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

/** A new temporary name, which the list learns of before anything has it. */
export function announcedName(folder: OpenedFolder, about: { like: string; names: TemporaryNames | undefined }): TemporaryName {
  const name = `.${about.like.slice(0, longestStem)}.${randomBytes(randomLength).toString('hex')}.sluice`;
  if (about.names === undefined) return { name, path: undefined };
  const path = joinPath(folder.absolutePath(), nameOf(name));
  about.names.add(path);
  return { name, path };
}
