// Folders that programs outside trust: what lies in them is run (hooks of git) or believed (settings, credentials). They stay
// read-only, though they lie in a writable folder.

import { type Stats, closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errnoOf } from '../start/spawn-failure.js';

const names = ['.git', '.agents', '.codex', '.aws'];

/** Bytes of a file that leads git to a folder: one path, which is at most 4096 long. More is none of git's. */
const maxPointerBytes = 4096 + 64;

/** What is there of them directly below a folder; for a `.git` file also the folders it leads to, wherever they are. */
export function protectedIn(folder: string): string[] {
  return names.flatMap((name) => {
    const path = join(folder, name);
    const found = statsOf(path);
    if (found === undefined) return [];
    return name === '.git' && found.isFile() ? [path, ...gitFolders(path)] : [path];
  });
}

/** One of them that is a link: it cannot be kept from being replaced, because nothing can be mounted over a link. */
export function protectedLinkIn(folder: string): string | undefined {
  return names.map((name) => join(folder, name)).find((path) => statsOf(path)?.isSymbolicLink() === true);
}

/** Of a link, not of where it leads. Undefined for what cannot be reached: the command cannot reach it either. */
function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** In a worktree or a submodule: the folder of its own, and the one with hooks and settings that it shares with others. */
function gitFolders(file: string): string[] {
  const [, path] = /^gitdir: (.+)$/m.exec(pointerIn(file)) ?? [];
  if (path === undefined) return [];
  const own = resolve(dirname(file), path);
  const common = pointerIn(join(own, 'commondir')).trim();
  return common === '' ? [own] : [own, resolve(own, common)];
}

/** The text of a small file; empty when there is none. A command may have put anything here, also a pipe that would never end. */
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
