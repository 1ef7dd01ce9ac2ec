// The folders to which a server's callers are confined, each held open, and the root to which a path belongs.

import { constants, openSync, realpathSync } from 'node:fs';
import { fileErrorOf, refused } from './file-error.js';
import { O_PATH } from './fs-calls.js';
import { type NativePath, isSamePath, nativePath, namesOf } from './native-path.js';

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

/** Throws a FileError when the path is not absolute, or there is no such folder. The caller closes the descriptor. */
export function holdRoot(path: string): HeldRoot {
  if (!path.startsWith('/')) throw refused(`a root must be an absolute path, got "${path}"`);
  try {
    const real = realpathSync.native(path, { encoding: 'buffer' });
    const fd = openSync(real, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { fd, real: namesOf(nativePath(real)), given: namesOf(path) };
  } catch (error) {
    throw fileErrorOf(error, path);
  }
}

/** Finds the innermost root that an absolute path leads to. The names above it are resolved by their text alone. */
export function locate(roots: readonly HeldRoot[], parts: readonly NativePath[]): Way | undefined {
  const names: NativePath[] = [];
  let found: { readonly root: HeldRoot; readonly start: number } | undefined;
  for (let at = 0; at <= parts.length; at += 1) {
    const root = roots.find(({ real, given }) => isSameList(real, names) || isSameList(given, names));
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

function isSameList(one: readonly NativePath[], other: readonly NativePath[]): boolean {
  return one.length === other.length && one.every((name, at) => isSamePath(name, other[at] ?? ''));
}
