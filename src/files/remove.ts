// Removes files and trees. A link is removed, never what it leads to, even if it is put in the place of a folder meanwhile.

import { constants, promises as fs } from 'node:fs';
import { FileError, errnoOf, namingPath, refused } from './file-error.js';
import { fewAtOnce } from './few-at-once.js';
import { entriesIn, inFolder, withFolder } from './folder.js';
import { lstat, unlink } from './fs-calls.js';
import type { NativePath } from './native-path.js';
import type { Paths } from './paths.js';
import type { Spot } from './place.js';

export interface RemoveOptions {
  /** `remove`: a folder is removed with its contents. `refuse`: only if it is empty. */
  readonly contents: 'remove' | 'refuse';
  /** Whether a path that is absent already is fine. */
  readonly absent: 'accept' | 'refuse';
  /** About the way to the path. */
  readonly links: 'follow' | 'refuse';
}

export async function remove(paths: Paths, path: NativePath, { contents, absent, links }: RemoveOptions): Promise<void> {
  if (links === 'refuse' && contents === 'remove') throw new FileError('failed', 'recursive no-follow removal is unsupported');
  try {
    await paths.using(path, { links: links === 'refuse' ? 'refuse' : 'parents', for: 'write' }, async (place) => {
      // Its contents would be gone before the system refuses.
      if (place.name === '.') throw refused(`"${place.shown}" cannot be removed: it is the root of what this server serves`);
      const stats = await lstat(place.path);
      if (stats.isSymbolicLink() && links === 'refuse') throw refused('path contains a symbolic link');
      if (!stats.isDirectory()) await unlink(place.path);
      else if (contents === 'refuse') await fs.rmdir(place.path);
      else await removeTree(place);
    });
  } catch (error) {
    if (absent === 'refuse' || errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** Removes a folder with everything below it. */
export async function removeTree(spot: Spot): Promise<void> {
  await namingPath(spot.shown, async () => {
    await withFolder({ ...spot, openFlags: spot.openFlags | constants.O_NOFOLLOW }, async (folder) => {
      const entries = (await entriesIn(folder)).map(({ name, type }) => ({ inner: inFolder(folder, name), type }));
      // One folder after the other: each level of the tree has one open folder.
      for (const { inner, type } of entries) if (type.isDirectory()) await ifPresent(async () => removeTree(inner));
      const others = entries.filter(({ type }) => !type.isDirectory());
      await fewAtOnce(others, async ({ inner }) => {
        await namingPath(inner.shown, async () => ifPresent(async () => unlink(inner.path)));
      });
    });
    await fs.rmdir(spot.path);
  });
}

/** Someone else may remove the same tree. */
async function ifPresent(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
