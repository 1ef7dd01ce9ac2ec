// Folders that programs outside the sandbox trust: their files are run (git hooks) or relied on (settings, credentials). They stay
// read-only even inside a writable folder.

import { type Stats, closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errnoOf } from '../start/spawn-failure.js';

const names = ['.git', '.agents', '.codex', '.aws'];

/** Largest file in which git stores the path of a folder: one path of at most 4096 bytes. A larger file is not git's. */
const maxPointerBytes = 4096 + 64;

/** The protected paths that exist directly below a folder; for a `.git` file, also the folders it points to, wherever they are. */
export function protectedIn(folder: string): string[] {
  return names.flatMap((name) => {
    const path = join(folder, name);
    const found = statsOf(path);
    if (found === undefined) return [];
    return name === '.git' && found.isFile() ? [path, ...gitFolders(path)] : [path];
  });
}

/** A protected path that is a link: the command could replace it, because nothing can be mounted over a link. */
export function protectedLinkIn(folder: string): string | undefined {
  return names.map((name) => join(folder, name)).find((path) => statsOf(path)?.isSymbolicLink() === true);
}

/** Does not follow links. Undefined for a path that cannot be reached: the command cannot reach it either. */
function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** For a worktree or submodule: its own git folder, and the common one with shared hooks and settings. */
function gitFolders(file: string): string[] {
  const [, path] = /^gitdir: (.+)$/m.exec(pointerIn(file)) ?? [];
  if (path === undefined) return [];
  const own = resolve(dirname(file), path);
  const common = pointerIn(join(own, 'commondir')).trim();
  return common === '' ? [own] : [own, resolve(own, common)];
}

/** The text of a small file; empty when there is none. A command may have put anything here, even a FIFO that would block forever. */
function pointerIn(path: string): string {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return '';
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= maxPointerBytes ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}
