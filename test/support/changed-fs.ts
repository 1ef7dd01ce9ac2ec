// Node's file system with a fault in it, or of another machine: for sources that import its functions by name.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Does the work with these functions in the place of Node's own, which are back when it is done. */
export async function withFs<T>(changed: Partial<typeof fs>, work: () => Promise<T>): Promise<T> {
  const original = Object.fromEntries(Object.entries(fs).filter(([name]) => name in changed));
  Object.assign(fs, changed);
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    Object.assign(fs, original);
    syncBuiltinESMExports();
  }
}
