// A folder held open for work on thousands of its entries, by calls that do not go through the thread pool. Its entries are used relative
// to it, one name at a time and without following links, so that no link leads anywhere else. Names are keys: one character per byte.

import { closeSync, constants, openSync, readlinkSync } from 'node:fs';
import { keyOf, nameOf } from './folder.js';
import { O_CLOEXEC } from './fs-calls.js';
import { type FolderCalls, folderCalls } from './folder-calls.js';
import { type NativePath, nativePath } from './native-path.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

export class HeldFolder {
  readonly fd: number;
  readonly calls: FolderCalls | undefined;
  readonly #prefix: string;

  private constructor(fd: number, where: { readonly calls: FolderCalls | undefined; readonly path: string }) {
    this.fd = fd;
    this.calls = where.calls;
    // Elsewhere there is no way to name an entry of an opened folder. Servers confined to roots do not run there.
    this.#prefix = process.platform === 'linux' ? `/proc/self/fd/${fd}/` : `${where.path}/`;
  }

  /** Links are followed, unless the flags say otherwise. The caller closes the folder. */
  static open(path: NativePath, flags = 0): HeldFolder {
    return new HeldFolder(openSync(path, O_RDONLY | O_DIRECTORY | flags), { calls: folderCalls(), path: keyOf(path) });
  }

  /** For node:fs. The last name is the entry itself: functions that follow links must be told not to. */
  pathOf(name: string): NativePath {
    return nameOf(this.#prefix + name);
  }

  /** The caller closes the descriptor. A link fails with ELOOP. */
  openFile(name: string, flags: number, mode = 0o666): number {
    if (this.calls !== undefined) {
      const fd = this.calls.openat(this.fd, name === '.' ? ownName : terminated(name), flags | O_NOFOLLOW | O_CLOEXEC, mode);
      if (fd >= 0) return fd;
    }
    // Also after a failed openat: a second try that puts the error in Node's words.
    return openSync(this.pathOf(name), flags | O_NOFOLLOW, mode);
  }

  /** A link fails with ENOTDIR or ELOOP. The caller closes the folder. */
  openFolder(name: string): HeldFolder {
    const fd = this.openFile(name, O_RDONLY | O_DIRECTORY);
    return new HeldFolder(fd, { calls: this.calls, path: this.#prefix + name });
  }

  /** Where it is now, links resolved. */
  absolutePath(): NativePath {
    if (process.platform !== 'linux') return nameOf(this.#prefix.slice(0, -1));
    return nativePath(readlinkSync(`/proc/self/fd/${this.fd}`, { encoding: 'buffer' }));
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** The folder itself, as libc takes it. */
const ownName = Buffer.from('.\0');

/** A name as libc takes it. */
export function terminated(name: string): Buffer {
  return Buffer.from(`${name}\0`, 'latin1');
}

/** A name or path for messages. */
export function shownKey(key: string): string {
  return nameOf(key).toString();
}
