// The folders that lead to the place where a tree is being unpacked, held open. Each is opened relative to the one above it, and a link is
// never followed: neither one of the archive nor one that was there before.

import { fchmodSync, fchownSync, fstatSync, futimesSync, mkdirSync } from 'node:fs';
import { FileError, errnoOf, fileErrorOf, refused } from '../file-error.js';
import { type HeldFolder, shownKey } from '../held-folder.js';
import { parted } from './entry-path.js';
import { secondsOf } from './modified-time.js';
import type { ArchivedEntry } from './tar-reader.js';
import { deepestTree } from './held-walk.js';

/** `own`: everything belongs to the user of this program. `archived`: to the user and group that the archive names. */
export type Owners = 'own' | 'archived';

type Metadata = Pick<ArchivedEntry, 'mode' | 'uid' | 'gid' | 'modifiedAtUs'>;

interface Frame {
  readonly folder: HeldFolder;
  readonly name: string;
  /** Set when the folder is left, since each new entry changes its time, and its mode may forbid new ones. */
  metadata: Metadata | undefined;
  /** Whether it was at the destination before: then it may belong to another user, and keep its mode and time. */
  isOld: boolean;
}

export class FolderStack {
  readonly #root: HeldFolder;
  readonly #owners: Owners;
  readonly #frames: Frame[] = [];
  #path: string | undefined = '';

  /** Closes the root too. */
  constructor(root: HeldFolder, owners: Owners) {
    this.#root = root;
    this.#owners = owners;
  }

  /** The folder with this path, '' for the root. Missing ones are made. It is open until another path is asked for. */
  at(path: string): HeldFolder {
    if (path !== this.#path) {
      this.#path = undefined; // unknown if the way there fails
      this.#move(namesIn(path));
    }
    this.#path = path;
    return this.#top();
  }

  /** Makes a folder, unless it is there, and goes to it. */
  make(path: string, metadata: Metadata): void {
    const { folder, name } = parted(path);
    const parent = this.at(folder);
    const isOld = this.#makeUnlessThere(parent, { name, mode: metadata.mode }) === 'there';
    this.at(path);
    const frame = this.#frames.at(-1);
    if (frame !== undefined) Object.assign(frame, { metadata, isOld });
  }

  /** Opens the folder with this path beside the stack. It must exist; the caller closes it. */
  openBeside(path: string): HeldFolder {
    let folder = this.#root.openFolder('.');
    for (const name of namesIn(path)) {
      const parent = folder;
      try {
        folder = openNext(parent, name);
      } finally {
        parent.close();
      }
    }
    return folder;
  }

  /** Leaves all folders, so that they have their modes and times. */
  finish(): void {
    while (this.#frames.length > 0) this.#leave();
  }

  close(): void {
    for (const { folder } of this.#frames.splice(0)) folder.close();
    this.#root.close();
  }

  #top(): HeldFolder {
    return this.#frames.at(-1)?.folder ?? this.#root;
  }

  #move(names: readonly string[]): void {
    const shared = this.#frames.findIndex(({ name }, index) => name !== names[index]);
    for (let left = shared < 0 ? 0 : this.#frames.length - shared; left > 0; left -= 1) this.#leave();
    for (const name of names.slice(this.#frames.length)) this.#enter(name);
  }

  #enter(name: string): void {
    const parent = this.#top();
    let folder: HeldFolder;
    try {
      folder = openNext(parent, name);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      this.#makeUnlessThere(parent, { name, mode: 0o777 });
      folder = openNext(parent, name);
    }
    this.#frames.push({ name, folder, metadata: undefined, isOld: true });
  }

  #makeUnlessThere(parent: HeldFolder, { name, mode }: { name: string; mode: number }): 'made' | 'there' {
    try {
      // Its owner can write into it until it is complete; other users get no more than the archive says.
      mkdirSync(parent.pathOf(name), (mode & 0o777) | 0o700);
      return 'made';
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
      return 'there';
    }
  }

  #leave(): void {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    try {
      if (frame.metadata === undefined) return;
      const inherited = this.#owners === 'own' ? fstatSync(frame.folder.fd).mode & 0o7000 : 0;
      setMetadata(frame.folder.fd, frame.metadata, this.#owners);
      // A folder has its group, and the bit that passes it on (setgid), from the folder above it.
      if (inherited !== 0) fchmodSync(frame.folder.fd, (frame.metadata.mode & 0o777) | inherited);
    } catch (error) {
      if (!frame.isOld || errnoOf(error) !== 'EPERM')
        throw fileErrorOf(error, shownKey([...this.#frames.map(({ name }) => name), frame.name].join('/')));
    } finally {
      frame.folder.close();
    }
  }
}

function openNext(parent: HeldFolder, name: string): HeldFolder {
  try {
    return parent.openFolder(name);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error;
    throw new FileError('refused', `"${shownKey(name)}" is not a folder at the destination`, { errno, cause: error });
  }
}

/** Without the archived owner, the bits that would lend the rights of another one (setuid, setgid) are left out. */
export function setMetadata(fd: number, { mode, uid, gid, modifiedAtUs }: Metadata, owners: Owners): void {
  if (owners === 'archived') fchownSync(fd, uid, gid);
  fchmodSync(fd, owners === 'archived' ? mode : mode & 0o777);
  futimesSync(fd, secondsOf(modifiedAtUs), secondsOf(modifiedAtUs));
}

function namesIn(path: string): readonly string[] {
  const names = path === '' ? [] : path.split('/');
  if (names.length > deepestTree) throw refused(`the tree is deeper than ${deepestTree} folders`);
  return names;
}
