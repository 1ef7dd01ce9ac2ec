// The limits of watching files, with their defaults.

import type { TreeLimits } from './known-tree.js';

export interface WatchLimits extends TreeLimits {
  /** Names with unread notices of one watch. Beyond this it forgets them, says `overflow`, and looks at everything. */
  readonly noticedNames: number;
  /** Changes in one batch; the rest follows in the next. */
  readonly changesPerBatch: number;
}

export const defaultWatchLimits: WatchLimits = {
  /** Half of what Linux grants a user on a machine with 1 GiB of memory; a large repository with its packages has 10 000 to 20 000. */
  folders: 32_768,
  /** About 75 MB. */
  entries: 262_144,
  /** Some 2 MB, and no more than looking at a whole tree costs. */
  noticedNames: 16_384,
  /** With usual paths some 100 KB. */
  changesPerBatch: 1_024,
};
