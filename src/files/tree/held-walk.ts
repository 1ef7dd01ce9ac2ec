// Walks a tree depth first, in the order of the file system. Holds each folder on the way open and looks at entries relative to it, so
// that a link put in the place of a folder meanwhile leads nowhere.

import { type Dir, type Dirent, opendirSync } from 'node:fs';
import { fileErrorOf, refused } from '../file-error.js';
import { HeldFolder } from '../held-folder.js';
import type { Spot } from '../place.js';

export interface WalkedEntry {
  readonly folder: HeldFolder;
  readonly name: string;
  /** Relative to the tree. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'fifo' | 'socket' | 'device';
}

/** Folders below each other; each takes two descriptors while the walk is in it. */
export const deepestTree = 256;

interface Frame {
  readonly folder: HeldFolder;
  readonly entries: Dir;
  /** Of the folder, with a slash at the end; empty for the tree itself. */
  readonly prefix: string;
}

export class HeldWalk {
  readonly #frames: Frame[] = [];

  constructor(root: HeldFolder) {
    this.#push(root, '');
  }

  /** Undefined at the end. A folder is entered only if the caller asks for it by `enter`. */
  next(): WalkedEntry | undefined {
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      const entry = frame.entries.readSync();
      if (entry !== null) return { folder: frame.folder, name: entry.name, path: frame.prefix + entry.name, kind: kindOf(entry) };
      this.#pop(frame);
    }
    return undefined;
  }

  /** Returns the opened folder, whose entries come next; the walk closes it. */
  enter(entry: WalkedEntry): HeldFolder {
    if (this.#frames.length > deepestTree) throw refused(`the tree is deeper than ${deepestTree} folders`);
    const folder = entry.folder.openFolder(entry.name);
    this.#push(folder, `${entry.path}/`);
    return folder;
  }

  close(): void {
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) this.#pop(frame);
  }

  #push(folder: HeldFolder, prefix: string): void {
    try {
      this.#frames.push({ folder, entries: opendirSync(folder.pathOf('.'), { encoding: 'latin1', bufferSize: 256 }), prefix });
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  #pop(frame: Frame): void {
    this.#frames.pop();
    frame.entries.closeSync();
    frame.folder.close();
  }
}

/** The caller closes the folder. */
export function openTree(place: Spot): HeldFolder {
  try {
    return HeldFolder.open(place.path, place.openFlags);
  } catch (error) {
    throw fileErrorOf(error, place.shown);
  }
}

function kindOf(entry: Dirent): WalkedEntry['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isFIFO()) return 'fifo';
  return entry.isSocket() ? 'socket' : 'device';
}
