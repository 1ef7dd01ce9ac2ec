// Moves a file, link or tree: by a rename, or, between file systems, by a copy that takes its name when it is complete.

import { promises as fs } from 'node:fs';
import { Copier } from './copy.js';
import { renameExclusively } from './exclusive-rename.js';
import { FileError, errnoOf, namingPath, refused } from './file-error.js';
import { unguessableName } from './make.js';
import { type NativePath, joinPath } from './native-path.js';
import type { Paths } from './paths.js';
import type { Place, Spot } from './place.js';
import { removeTree } from './remove.js';

export interface MoveOptions {
  readonly from: NativePath;
  readonly to: NativePath;
  /** `replace` as rename does: a file or an empty folder. */
  readonly existing: 'replace' | 'refuse';
}

export interface Moved {
  /** `copied`: the two paths are on different file systems. Mode and times are kept, and the owner where permitted. */
  readonly how: 'renamed' | 'copied';
}

/** A link is moved itself. */
export async function move(paths: Paths, { from, to, existing }: MoveOptions): Promise<Moved> {
  return paths.using(from, { links: 'parents', for: 'write' }, async (source) =>
    paths.using(to, { links: 'parents', for: 'write' }, async (target) => {
      const place = async (path: NativePath): Promise<void> =>
        existing === 'refuse' ? renameExclusively(path, target.path) : fs.rename(path, target.path);
      try {
        await namingPath(`${source.shown}" to "${target.shown}`, async () => place(source.path));
        return { how: 'renamed' };
      } catch (error) {
        if (errnoOf(error) !== 'EXDEV') throw error;
      }
      await copyBeside(source, target, place);
      await removeEntry(source);
      return { how: 'copied' };
    }),
  );
}

/** Copies under a temporary name next to the target, which `place` then gives the final name. */
async function copyBeside(source: Place, target: Place, place: (path: NativePath) => Promise<void>): Promise<void> {
  const temporary: Spot = { ...target, path: joinPath(target.folder, `.${unguessableName()}.sluice`) };
  const count = { files: 0, bytes: 0, skipped: 0 };
  try {
    const copier = new Copier({ existing: 'refuse', keep: 'modeOwnerAndTimes', count });
    const isCopied = await copier.copy(source, temporary, await fs.lstat(source.path));
    if (!isCopied || count.skipped > 0) {
      throw refused(`"${source.shown}" has FIFOs, sockets or devices, which cannot be moved to another file system`);
    }
    await place(temporary.path);
  } catch (error) {
    await removeEntry(temporary).catch((problem: unknown) => {
      if (!(problem instanceof FileError) || problem.kind !== 'notFound') throw problem;
    });
    throw error;
  }
}

async function removeEntry(spot: Spot): Promise<void> {
  await namingPath(spot.shown, async () => {
    if ((await fs.lstat(spot.path)).isDirectory()) await removeTree(spot);
    else await fs.unlink(spot.path);
  });
}
