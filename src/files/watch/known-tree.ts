// What a watch has told its reader so far: every entry below the watched folder, with what is needed to recognise a change. Does not look
// at the disk.

import type { Stats } from 'node:fs';
import { FileError } from '../file-error.js';
import { nativePath } from '../native-path.js';
import { shownPath } from '../path-uri.js';

/** Tells one state of an entry from another. */
export interface Facts {
  readonly mode: number;
  readonly device: number;
  readonly inode: number;
  readonly size: number;
  readonly modifiedMs: number;
  /** Of the inode: also moves on when attributes are written, and when the entry is moved. */
  readonly changedMs: number;
}

interface Placed {
  parent: KnownFolder | undefined;
  /** Its bytes as characters (latin1), because names need not be UTF-8. */
  name: string;
  facts: Facts;
}

/** A file, a link, or a folder whose content is not watched. */
export interface KnownLeaf extends Placed {
  readonly kind: 'leaf';
}

export interface KnownFolder extends Placed {
  readonly kind: 'folder';
  readonly children: Map<string, KnownEntry>;
  /** Ends the notices about this folder. Undefined while there are none: its content has to be looked at again. */
  unfollow: (() => void) | undefined;
}

export type KnownEntry = KnownLeaf | KnownFolder;

export interface TreeLimits {
  /** Watched folders of one watch. Each costs the kernel about 1 KiB, out of a number that all programs of the user share. */
  readonly folders: number;
  /** Known entries of one watch. Each costs about 300 bytes. */
  readonly entries: number;
}

export class KnownTree {
  readonly root: KnownFolder;
  readonly #rootPath: string;
  /** Without the slash at the end. */
  readonly #prefix: string;
  readonly #depth: 'children' | 'all';
  readonly #limits: TreeLimits;
  #folders = 1;
  #entries = 0;

  constructor(root: { path: Buffer; facts: Facts }, depth: 'children' | 'all', limits: TreeLimits) {
    this.root = { kind: 'folder', parent: undefined, name: '', facts: root.facts, children: new Map(), unfollow: undefined };
    this.#rootPath = root.path.toString('latin1');
    this.#prefix = this.#rootPath.endsWith('/') ? this.#rootPath.slice(0, -1) : this.#rootPath;
    this.#depth = depth;
    this.#limits = limits;
  }

  get folders(): number {
    return this.#folders;
  }

  add(parent: KnownFolder, name: string, facts: Facts): KnownEntry {
    const entry: KnownEntry =
      this.#depth === 'all' && isFolder(facts)
        ? { kind: 'folder', parent, name, facts, children: new Map(), unfollow: undefined }
        : { kind: 'leaf', parent, name, facts };
    this.#entries += 1;
    if (this.#entries > this.#limits.entries) throw this.#tooMany('entries', this.#limits.entries);
    if (entry.kind === 'folder') this.#folders += 1;
    if (this.#folders > this.#limits.folders) throw this.#tooMany('folders', this.#limits.folders);
    parent.children.set(name, entry);
    return entry;
  }

  /** Takes the entry and everything below it out of the tree, and ends the notices about it. */
  remove(entry: KnownEntry): void {
    for (const each of insideOut(entry)) {
      each.parent?.children.delete(each.name);
      each.parent = undefined;
      this.#entries -= 1;
      if (each.kind === 'leaf') continue;
      this.#folders -= 1;
      each.unfollow?.();
      each.unfollow = undefined;
    }
  }

  /** Moves the entry with everything below it. What was in its new place is removed, as by rename(2). */
  move(entry: KnownEntry, parent: KnownFolder, name: string): void {
    const replaced = parent.children.get(name);
    if (replaced !== undefined) this.remove(replaced);
    entry.parent?.children.delete(entry.name);
    entry.parent = parent;
    entry.name = name;
    parent.children.set(name, entry);
  }

  contains(entry: KnownEntry): boolean {
    let top = entry;
    while (top.parent !== undefined) top = top.parent;
    return top === this.root;
  }

  pathOf(entry: KnownEntry): Buffer {
    let path = '';
    for (let at = entry; at.parent !== undefined; at = at.parent) path = `/${at.name}${path}`;
    return Buffer.from(path === '' ? this.#rootPath : `${this.#prefix}${path}`, 'latin1');
  }

  #tooMany(what: string, limit: number): FileError {
    const path = shownPath(nativePath(Buffer.from(this.#rootPath, 'latin1')));
    return new FileError(
      'refused',
      `"${path}" has more than ${limit} ${what}, which is the most that one watch covers; watch a part of it`,
    );
  }
}

/** The entry and everything below it, each folder after what it contains. */
export function insideOut(entry: KnownEntry): KnownEntry[] {
  const outsideIn: KnownEntry[] = [entry];
  for (const each of outsideIn) if (each.kind === 'folder') for (const child of each.children.values()) outsideIn.push(child);
  return outsideIn.toReversed();
}

/** The folders that contain the entry, the nearest first. */
export function ancestorsOf(entry: KnownEntry): KnownFolder[] {
  const ancestors: KnownFolder[] = [];
  for (let at = entry.parent; at !== undefined; at = at.parent) ancestors.push(at);
  return ancestors;
}

export function factsOf(stats: Stats): Facts {
  return {
    mode: stats.mode,
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    modifiedMs: stats.mtimeMs,
    changedMs: stats.ctimeMs,
  };
}

const typeBits = 0o170000;
const folderType = 0o040000;

export function isFolder(facts: Facts): boolean {
  return (facts.mode & typeBits) === folderType;
}

/** The same inode of the same type. An inode that was freed and used again looks the same. */
export function isSameInode(one: Facts, other: Facts): boolean {
  return one.inode === other.inode && one.device === other.device && (one.mode & typeBits) === (other.mode & typeBits);
}

/** Whether the same inode has been written. Size and times of a folder only say that its content changed, which its entries tell better. */
export function isWritten(before: Facts, now: Facts): boolean {
  if (isFolder(now)) return before.mode !== now.mode;
  return before.size !== now.size || before.modifiedMs !== now.modifiedMs || before.changedMs !== now.changedMs;
}

/** Like `isWritten`, for an entry that was moved, which counts as a change of the inode. */
export function isWrittenAfterMove(before: Facts, now: Facts): boolean {
  return isWritten(before, { ...now, changedMs: before.changedMs });
}
