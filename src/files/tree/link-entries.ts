// Links of an archive, symbolic and hard, in the place of whatever file or link is there. What a symbolic link points to does not matter
// here: unpacking follows none.

import { lchownSync, linkSync, lstatSync, lutimesSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { nameOf } from '../folder.js';
import { errnoOf, refused } from '../file-error.js';
import { type OpenedFolder, shownKey } from '../opened-folder.js';
import { type StagingOptions, announcedName } from '../staged-file.js';
import { type FolderStack, type Owners, parted, pathBelow } from './folder-stack.js';
import { secondsOf } from './modified-time.js';
import type { ArchivedEntry } from './tar-reader.js';

interface LinkOptions {
  readonly owners?: Owners | undefined;
  readonly staging?: StagingOptions | undefined;
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
  readonly staging: StagingOptions | undefined;
}

/** Lets `make` use the name itself, or if it is taken, another one that then replaces it. */
function inPlaceOf(folder: OpenedFolder, { name, staging }: Wanted, make: (chosen: string) => void): void {
  try {
    make(name);
    return;
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
  const temporary = announcedName(folder, { like: name, names: staging?.names });
  try {
    make(temporary.name);
    renameSync(folder.pathOf(temporary.name), folder.pathOf(name));
  } finally {
    removeIfThere(folder, temporary.name); // also after a rename to another name of the same file, which does nothing
    if (temporary.path !== undefined) staging?.names?.remove(temporary.path);
  }
}

function removeIfThere(folder: OpenedFolder, name: string): void {
  try {
    unlinkSync(folder.pathOf(name));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
