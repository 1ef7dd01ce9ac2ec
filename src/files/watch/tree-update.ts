// Brings a known tree up to date with what is seen on the disk, and writes down the changes in an order in which a reader can apply them.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Facts,
  type KnownEntry,
  type KnownFolder,
  insideOut,
  isFolder,
  isSameInode,
  isWritten,
  isWrittenAfterMove,
} from './known-tree.js';
import { hints } from './notices.js';
import { type LookOptions, type Names, type Sighting, inOrder, lookAt, lookInto } from './sightings.js';

/** Paths are native and start with the path that is watched. */
export type Change =
  | { readonly kind: 'created' | 'changed' | 'removed'; readonly path: Buffer }
  /** As by rename(2): what was at `path` before is gone. */
  | { readonly kind: 'moved'; readonly from: Buffer; readonly path: Buffer };

export interface UpdateOptions extends LookOptions {
  /** Names that could not be seen this time; to be looked at together with the next notice. */
  notSeen(folder: KnownFolder, names: Names): void;
  isClosed(): boolean;
}

/** Entries that are compared before others get their turn of the event loop: about a millisecond. */
const settledPerTurn = 256;

export async function updateTree(noticed: ReadonlyMap<KnownFolder, Names>, options: UpdateOptions): Promise<Change[]> {
  const { tree } = options;
  const changes: Change[] = [];
  const { seen, moves, notFound } = await lookAt(noticed, options);
  for (const { entry, to } of inOrder(moves)) {
    const from = tree.pathOf(entry);
    tree.move(entry, to.folder, to.name);
    changes.push({ kind: 'moved', from, path: tree.pathOf(entry) });
    // The rest of what happened to it is seen like for an entry that stayed.
    if (to.now !== undefined && !isWrittenAfterMove(entry.facts, to.now)) entry.facts = to.now;
  }
  await settleAll(seen, changes, options);
  for (const [folder, names] of notFound) if (tree.contains(folder)) options.notSeen(folder, names);
  return changes;
}

/** Follows a folder and compares all of its content. */
export async function lookAtContent(folder: KnownFolder, changes: Change[], options: UpdateOptions): Promise<void> {
  const path = options.tree.pathOf(folder);
  const seen = await lookInto(folder, { names: 'all', path }, options);
  // It was moved or replaced since it was seen, so its parent has news.
  if (seen === undefined && folder.parent !== undefined) options.notSeen(folder.parent, new Map([[folder.name, 0]]));
  await settleAll(seen ?? [], changes, options);
}

async function settleAll(seen: readonly Sighting[], changes: Change[], options: UpdateOptions): Promise<void> {
  for (const [at, sighting] of seen.entries()) {
    await settle(sighting, changes, options);
    if (at % settledPerTurn === settledPerTurn - 1) await nextTurn();
  }
}

async function settle(sighting: Sighting, changes: Change[], options: UpdateOptions): Promise<void> {
  const { folder, name, now } = sighting;
  if (options.isClosed() || !options.tree.contains(folder)) return;
  const before = folder.children.get(name);
  if (now === undefined) {
    if (before !== undefined) remove(before, changes, options);
  } else if (before !== undefined && isSameInode(before.facts, now)) {
    const isTouched = (sighting.hint & hints.touched) !== 0 || isWritten(before.facts, now);
    before.facts = now;
    if (isTouched) changes.push({ kind: 'changed', path: options.tree.pathOf(before) });
    if (before.kind === 'folder' && before.unfollow === undefined) await lookAtContent(before, changes, options);
  } else if (before !== undefined && !isFolder(before.facts) && !isFolder(now)) {
    before.facts = now;
    changes.push({ kind: 'changed', path: options.tree.pathOf(before) });
  } else {
    if (before !== undefined) remove(before, changes, options);
    await create(sighting, now, { changes, options });
  }
}

async function create(
  { folder, name }: Sighting,
  facts: Facts,
  { changes, options }: { changes: Change[]; options: UpdateOptions },
): Promise<void> {
  const entry = options.tree.add(folder, name, facts);
  changes.push({ kind: 'created', path: options.tree.pathOf(entry) });
  if (entry.kind === 'folder') await lookAtContent(entry, changes, options);
}

function remove(entry: KnownEntry, changes: Change[], { tree }: UpdateOptions): void {
  for (const each of insideOut(entry)) changes.push({ kind: 'removed', path: tree.pathOf(each) });
  tree.remove(entry);
}
