// Links of an archive, symbolic and hard, in the place of whatever file or link is there. What a symbolic link points to does not matter
// here: unpacking follows none.

import { lchownSync, linkSync, lstatSync, lutimesSync, renameSync, symlinkSync } from 'node:fs';
import { nameOf } from '../folder.js';
import { errnoOf, refused } from '../file-error.js';
import { type HeldFolder, shownKey } from '../held-folder.js';
import { removeIfThere } from '../staged-file.js';
import type { Staging } from '../staging.js';
import { parted, pathBelow } from './entry-path.js';
import type { FolderStack, Owners } from './folder-stack.js';
import { secondsOf } from './modified-time.js';
import type { ArchivedEntry } from './tar-reader.js';

interface LinkOptions {
  readonly owners: Owners;
  readonly staging: Staging;
}

export function makeLink(folders: FolderStack, entry: ArchivedEntry, { owners, staging }: LinkOptions): void {
  const { folder: path, name } = parted(entry.path);
  const folder = folders.at(path);
  inPlaceOf(folder, { name, staging }, (chosen) => {
    symlinkSync(nameOf(entry.target), folder.pathOf(chosen));
    if (owners === 'archived') lchownSync(folder.pathOf(chosen), entry.uid, entry.gid);
    lutimesSync(folder.pathOf(chosen), secondsOf(entry.modifiedAtUs), secondsOf(entry.modifiedAtUs));
  });
}

/** The target must be a file below the destination, as the archive's own path. */
export function makeHardLink(folders: FolderStack, entry: ArchivedEntry, { staging }: LinkOptions): void {
  const { folder: path, name } = parted(entry.path);
  const target = parted(pathBelow(entry.target));
  const source = folders.openBeside(target.folder);
  try {
    if (!lstatSync(source.pathOf(target.name)).isFile()) {
      throw refused(`the archive has a hard link to "${shownKey(entry.target)}", which is not a file`);
    }
    const folder = folders.at(path);
    inPlaceOf(folder, { name, staging }, (chosen) => linkSync(source.pathOf(target.name), folder.pathOf(chosen)));
  } finally {
    source.close();
  }
}

interface Wanted {
  readonly name: string;
  readonly staging: Staging;
}

/** Lets `make` use the name itself, or if it is taken, another one that then replaces it. */
function inPlaceOf(folder: HeldFolder, { name, staging }: Wanted, make: (chosen: string) => void): void {
  try {
    make(name);
    return;
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
  const temporary = staging.nameIn(folder);
  try {
    make(temporary);
    renameSync(folder.pathOf(temporary), folder.pathOf(name));
  } finally {
    removeIfThere(folder, temporary); // also after a rename to another name of the same file, which does nothing
  }
}
