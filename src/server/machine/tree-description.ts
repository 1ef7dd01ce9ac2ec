// Whole trees in the terms of the protocol: which entries of one are left out, and what became of it. Servers and clients on Node share it.

import { globMatcher } from '../../base/glob.js';
import { type NativePath, type TreeResult as Packed, splitPath } from '../../files/index.js';
import type { TreeResult } from '../../protocol/index.js';
import { relativeText } from './file-description.js';

/** Whether an entry matches one of the patterns, by its name or by its path relative to the tree. */
export function exclusionOf(patterns: readonly string[]): (path: NativePath) => boolean {
  const matches = globMatcher(patterns, 'exactCase');
  return (path) => matches(relativeText(path)) || matches(relativeText(splitPath(path).at(-1) ?? ''));
}

export function treeResultOf({ skipped, ...counts }: Packed): TreeResult {
  return { ...counts, skipped: skipped.map(({ path, reason }) => ({ path: relativeText(path), problem: reason })) };
}
