// Looks at the names about which there were notices, also in folders that have been moved meanwhile, and recognises what was moved. Does
// not change the known tree.

import { hints } from './notices.js';
import { type KnownEntry, type KnownFolder, type KnownTree, type Facts, ancestorsOf, isSameInode } from './known-tree.js';
import { type IsInside, type OpenedFolder, openFolder } from './opened-folder.js';

/** The names in a folder to look at, with the hints about each. */
export type Names = ReadonlyMap<string, number> | 'all';

/** What is on the disk under a name in a known folder; undefined is nothing. */
export interface Sighting {
  readonly folder: KnownFolder;
  readonly name: string;
  readonly hint: number;
  readonly now: Facts | undefined;
}

export interface Move {
  readonly entry: KnownEntry;
  readonly to: Sighting;
}

export interface Sightings {
  readonly seen: readonly Sighting[];
  readonly moves: readonly Move[];
  /** Folders that are not where they are known to be: below a folder that was moved or removed just now, which will be noticed next. */
  readonly notFound: ReadonlyMap<KnownFolder, Names>;
}

export interface LookOptions {
  readonly tree: KnownTree;
  readonly isInside: IsInside | undefined;
  /** Called with each folder before its names are listed, so that no change can fall in between. */
  opened(folder: KnownFolder, opened: OpenedFolder): void;
  /** The only name that is watched, if it is not all of them. */
  readonly only: string | undefined;
}

export async function lookAt(noticed: ReadonlyMap<KnownFolder, Names>, options: LookOptions): Promise<Sightings> {
  let seen: readonly Sighting[] = [];
  let moves: Move[] = [];
  let waiting = new Map(noticed);
  // A folder inside a moved one is found only after its new place has been seen. Folders are moved into each other, so this repeats.
  for (let found = -1; found !== 0;) {
    const notFound = new Map<KnownFolder, Names>();
    const movedTo = new Map(moves.map(({ entry, to }) => [entry, to]));
    const sightings: (readonly Sighting[])[] = [seen];
    for (const [folder, names] of waiting) {
      const seenInFolder = await lookInto(folder, { names, path: presentPath(folder, movedTo, options.tree) }, options);
      if (seenInFolder === undefined) notFound.set(folder, names);
      else sightings.push(seenInFolder);
    }
    seen = sightings.flat();
    found = waiting.size - notFound.size;
    if (found > 0) moves = movesAmong(seen);
    waiting = notFound;
  }
  return { seen, moves, notFound: waiting };
}

/** Undefined if the folder is not at this path. */
export async function lookInto(
  folder: KnownFolder,
  { names, path }: { names: Names; path: Buffer },
  options: LookOptions,
): Promise<Sighting[] | undefined> {
  const isRoot = folder === options.tree.root;
  const opened = await openFolder(path, isRoot ? 'follow' : 'refuse', options.isInside);
  if (opened === 'unreadable') return [];
  if (opened === 'absent') return undefined;
  try {
    if (!isSameInode(opened.facts, folder.facts)) return undefined;
    // Without notices from it so far, anything may have happened in it.
    const isNew = folder.unfollow === undefined;
    options.opened(folder, opened);
    const wanted = names === 'all' || isNew ? await allNames(folder, opened, options.only) : [...names.keys()];
    const facts = await opened.look(wanted);
    return wanted.map((name, at) => ({ folder, name, hint: names === 'all' ? 0 : (names.get(name) ?? 0), now: facts[at] }));
  } finally {
    opened.close();
  }
}

async function allNames(folder: KnownFolder, opened: OpenedFolder, only: string | undefined): Promise<string[]> {
  return only === undefined ? [...new Set([...(await opened.names()), ...folder.children.keys()])] : [only];
}

/** Where the folder is after the moves that are recognised so far. */
function presentPath(folder: KnownFolder, movedTo: ReadonlyMap<KnownEntry, Sighting>, tree: KnownTree): Buffer {
  let below = '';
  let at: KnownFolder | undefined = folder;
  const passed = new Set<KnownFolder>();
  while (at !== undefined && !passed.has(at)) {
    passed.add(at);
    const to = movedTo.get(at);
    if (at.parent !== undefined || to !== undefined) below = `/${to?.name ?? at.name}${below}`;
    at = to?.folder ?? at.parent;
  }
  return Buffer.concat([tree.pathOf(tree.root), Buffer.from(below, 'latin1')]);
}

/**
 * An inode that left one name and arrived at another was moved, if the kernel says of both names that this is what happened to them: a
 * freed inode that is used again for a new file looks the same otherwise.
 */
function movesAmong(seen: readonly Sighting[]): Move[] {
  const departed = new Map<string, KnownEntry>();
  for (const sighting of seen) {
    const before = sighting.folder.children.get(sighting.name);
    if (before === undefined || (sighting.hint & hints.movedAway) === 0 || isStillThere(before, sighting.now)) continue;
    departed.set(inodeKey(before.facts), before);
  }
  const moves: Move[] = [];
  for (const to of departed.size === 0 ? [] : seen) {
    if (to.now === undefined || (to.hint & hints.movedHere) === 0) continue;
    if (isStillThere(to.folder.children.get(to.name), to.now)) continue;
    const entry = departed.get(inodeKey(to.now));
    if (entry === undefined || !isSameInode(entry.facts, to.now)) continue;
    departed.delete(inodeKey(to.now));
    moves.push({ entry, to });
  }
  return moves;
}

function isStillThere(before: KnownEntry | undefined, now: Facts | undefined): boolean {
  return before !== undefined && now !== undefined && isSameInode(before.facts, now);
}

function inodeKey(facts: Facts): string {
  return `${facts.device}:${facts.inode}`;
}

/**
 * The moves in an order in which each can be carried out after the one before: a place is vacated before it is taken. Moves in a circle,
 * such as two names exchanged, are left out.
 */
export function* inOrder(moves: readonly Move[]): Generator<Move> {
  const pending = new Set(moves);
  const moving = new Set(moves.map(({ entry }) => entry));
  for (let done = -1; done !== 0;) {
    done = 0;
    for (const move of pending) {
      const occupant = move.to.folder.children.get(move.to.name);
      if (isMoving(move.to.folder, moving) || (occupant !== undefined && holdsAny(occupant, moving))) continue;
      pending.delete(move);
      moving.delete(move.entry);
      done += 1;
      yield move;
    }
  }
}

function isMoving(folder: KnownFolder, moving: ReadonlySet<KnownEntry>): boolean {
  return moving.has(folder) || ancestorsOf(folder).some((each) => moving.has(each));
}

function holdsAny(entry: KnownEntry, moving: ReadonlySet<KnownEntry>): boolean {
  if (moving.has(entry)) return true;
  return entry.kind === 'folder' && [...moving].some((each) => ancestorsOf(each).includes(entry));
}
