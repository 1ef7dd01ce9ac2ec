// The folders to which a server's callers are confined, each held open, and the root to which a path belongs.

import { closeSync, constants, openSync, realpathSync } from 'node:fs';
import { fileErrorOf, refused } from './file-error.js';
import { O_PATH } from './fs-calls.js';
import { type NativePath, absolutePath, isSamePath, namesOf, nativePath } from './native-path.js';

/** A folder that is held open. Whatever happens to its name, paths below it start here. */
export interface HeldRoot {
  readonly fd: number;
  /** The names of its real path. */
  readonly real: readonly NativePath[];
  /** The names of the path by which the operator called it. */
  readonly given: readonly NativePath[];
}

/** A root and the way from there; the names may contain `..`. */
export interface Way {
  readonly root: HeldRoot;
  readonly names: readonly NativePath[];
}

export class Roots {
  readonly #held: readonly HeldRoot[];
  #users = 0;
  #isClosed = false;

  private constructor(held: readonly HeldRoot[]) {
    this.#held = held;
  }

  /** Throws a FileError when one of the paths is not absolute or no folder. */
  static open(paths: readonly string[]): Roots {
    const held: HeldRoot[] = [];
    try {
      for (const path of paths) held.push(holdRoot(path));
      return new Roots(held);
    } catch (error) {
      for (const { fd } of held) closeSync(fd);
      throw error;
    }
  }

  get realPaths(): NativePath[] {
    return this.#held.map(({ real }) => absolutePath(real));
  }

  /** Keeps the descriptors open until the function returned is called, which may be repeated. */
  use(): () => void {
    if (this.#isClosed) throw refused('this server no longer serves files');
    this.#users += 1;
    let isUsed = true;
    return () => {
      if (!isUsed) return;
      isUsed = false;
      this.#users -= 1;
      this.#closeIfUnused();
    };
  }

  /** Takes effect after the last use: a number that is closed too early may already mean another folder. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closeIfUnused();
  }

  /** Finds the innermost root that an absolute path leads to. The names above it are resolved by their text alone. */
  locate(parts: readonly NativePath[]): Way | undefined {
    const names: NativePath[] = [];
    let found: { readonly root: HeldRoot; readonly start: number } | undefined;
    for (let at = 0; at <= parts.length; at += 1) {
      const root = this.#held.find(({ real, given }) => isSameList(real, names) || isSameList(given, names));
      if (root !== undefined) found = { root, start: at };
      const part = parts[at];
      if (part === '..') {
        if (found !== undefined) break; // inside a root, ".." is resolved by the descent
        names.pop();
      } else if (part !== undefined && part !== '' && part !== '.') {
        names.push(part);
      }
    }
    return found === undefined ? undefined : { root: found.root, names: parts.slice(found.start) };
  }

  #closeIfUnused(): void {
    if (this.#isClosed && this.#users === 0) for (const { fd } of this.#held) closeSync(fd);
  }
}

function holdRoot(path: string): HeldRoot {
  if (!path.startsWith('/')) throw refused(`a root must be an absolute path, got "${path}"`);
  try {
    const real = realpathSync.native(path, { encoding: 'buffer' });
    const fd = openSync(real, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { fd, real: namesOf(nativePath(real)), given: namesOf(path) };
  } catch (error) {
    throw fileErrorOf(error, path);
  }
}

function isSameList(one: readonly NativePath[], other: readonly NativePath[]): boolean {
  return one.length === other.length && one.every((name, at) => isSamePath(name, other[at] ?? ''));
}
