// Finds out the real reason why something could not be created or written in a folder.

import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';

/** Node reports a read-only disk as a missing folder when it creates several at once, so the nearest existing folder is checked. */
export function whyUnwritable(folder: string, error: unknown): string {
  let nearest = folder;
  while (!existsSync(nearest) && nearest !== path.dirname(nearest)) nearest = path.dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK);
    return messageOf(error);
  } catch (reason) {
    return messageOf(reason);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
