// Node's file system with some functions replaced, to simulate a fault or another machine, for sources that import its functions by name.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Runs `work` with these functions in place of Node's own, and restores them afterwards. */
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
