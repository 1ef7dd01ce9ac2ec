// Why something could not be made or written in a folder, in words that are true.

import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';

/** Node takes a read-only disk for a missing folder when it makes several at once, so the folder that is there is asked. */
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
