// A name in a folder, ready for node:fs: the end of a path, without what led there.

import { constants, existsSync } from 'node:fs';
import { folderPath } from './descent.js';
import { errnoOf, refused } from './file-error.js';
import { type NativePath, joinPath, namesOf, parentOf } from './native-path.js';
import { shownPath } from './path-uri.js';

export interface PlaceOptions {
  /**
   * - `follow`: the place is what the path leads to. It may not exist yet; the target of a dangling link is a place too.
   * - `parents`: a link at the end of the path is the place itself.
   * - `refuse`: no component is a link. The last one is judged by the code that opens the place, with `openFlags`.
   */
  readonly links: 'follow' | 'parents' | 'refuse';
  readonly for: 'read' | 'write';
  /** `always`: the folder is opened even if nothing confines the server and links are followed. */
  readonly hold?: 'always' | 'ifNeeded';
}

/** The folder stays open, where it is held, until the place is closed. */
export interface Place {
  /** For node:fs. Unless `openFlags` is 0, a link here must not be followed: add them, or use calls that do not follow links. */
  readonly path: NativePath;
  /** The containing folder, for node:fs; for names next to this one. */
  readonly folder: NativePath;
  /** The name in that folder; `.` for the folder itself. */
  readonly name: NativePath;
  /** To be added to the flags of every open: O_NOFOLLOW unless nothing confines the server and links are followed. */
  readonly openFlags: number;
  /** The path in texts for the caller. */
  readonly shown: string;
  close(): void;
}

/** What opening takes. A `Place` is one. */
export type Spot = Pick<Place, 'path' | 'openFlags' | 'shown'>;

/** A place that is only a path: nothing is open, and the kernel follows its links. Costs nothing. */
export function plainPlace(path: NativePath, { links }: PlaceOptions): Place {
  if (links === 'refuse' && process.platform !== 'darwin') {
    throw refused('links cannot be refused on this machine: it has no /proc/self/fd');
  }
  return {
    path,
    get folder() {
      return parentOf(path);
    },
    get name() {
      return namesOf(path).at(-1) ?? '.';
    },
    openFlags: links === 'refuse' ? O_NOFOLLOW_ANY : 0,
    shown: shownPath(path),
    close: () => {},
  };
}

export interface OpenedName {
  readonly fd: number;
  readonly name: NativePath;
  close(): void;
}

export function heldPlace(opened: OpenedName, shown: string): Place {
  const { fd, name } = opened;
  const folder = folderPath(fd);
  let isOpen = true;
  return {
    path: joinPath(folder, name),
    folder,
    name,
    openFlags: constants.O_NOFOLLOW,
    shown,
    close: () => {
      if (isOpen) opened.close();
      isOpen = false;
    },
  };
}

/** Whether an open folder has a path, by which node:fs acts relative to it. */
export const canHoldFolders = existsSync('/proc/self/fd');

/** Whether an act failed because there is a link at the place itself, which must not be followed. */
export function isLinkAt({ path, openFlags }: Spot, error: unknown): boolean {
  if (openFlags === 0 || !(error instanceof Error) || errnoOf(error) !== 'ELOOP') return false;
  return 'path' in error && String(error.path) === String(path);
}

/** What opening a link with O_NOFOLLOW fails with, for calls that would not fail. */
export function linkError({ path }: Spot): Error {
  return Object.assign(new Error('ELOOP: too many symbolic links encountered, open'), { code: 'ELOOP', path });
}

/** macOS: opening fails if any component is a link. */
const O_NOFOLLOW_ANY = 0x20000000;
