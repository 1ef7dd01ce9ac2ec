// The folder a command of this machine starts in.

import path from 'node:path';

/** Absolute. Throws when it starts from our own folder and that has been removed; one named in full does not need ours. */
export function localFolder(named: string | undefined): string {
  try {
    return path.resolve(named ?? '.');
  } catch (cause) {
    throw new Error('the current folder has been removed; name another one in full with -C', { cause });
  }
}
