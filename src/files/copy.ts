// Copies files, links and trees.

import { type Stats, promises as fs } from 'node:fs';
import { type Kept, copyFile } from './copy-file.js';
import { errnoOf, namingPath, refused } from './file-error.js';
import { type Folder, entriesIn, inFolder, withFolder } from './folder.js';
import { makeDirectory } from './make.js';
import { canonicalise, targetStats } from './metadata.js';
import { type NativePath, namesBelow, namesOf, parentOf } from './native-path.js';
import type { Paths } from './paths.js';
import type { Spot } from './place.js';

export interface CopyOptions {
  readonly from: NativePath;
  readonly to: NativePath;
  /** Whether a folder is copied, with everything below it. */
  readonly folders: 'copy' | 'refuse';
  /**
   * What happens to names that exist already; folders are merged unless they are refused.
   * - `overwriteFiles`: files are overwritten in place, links fail; what Codex does
   * - `replace`: a file or link is replaced by the link that is copied there
   */
  readonly existing: 'overwriteFiles' | 'replace' | 'refuse';
  /** `make`: missing folders on the way to the copy of a folder are made, as Codex does; `require` by default. */
  readonly parents?: 'make' | 'require';
}

export interface CopyCount {
  files: number;
  bytes: number;
  /** FIFOs, sockets and devices inside a tree, which are not copied. */
  skipped: number;
}

/** A link is copied as a link. A file keeps its mode. */
export async function copy(paths: Paths, options: CopyOptions): Promise<CopyCount> {
  const { from, to, folders, existing } = options;
  return paths.using(from, { links: 'parents', for: 'read' }, async (source) => {
    const stats = await fs.lstat(source.path);
    if (stats.isDirectory()) {
      if (folders === 'refuse') throw refused('fs/copy requires recursive: true when sourcePath is a directory');
      if (await isInside(paths, to, from)) {
        throw refused('fs/copy cannot copy a directory to itself or one of its descendants');
      }
    }
    // A new link takes the name itself; the kernel would not write through a link there either.
    const links = stats.isSymbolicLink() ? 'parents' : 'follow';
    if (stats.isDirectory() && options.parents === 'make')
      await makeDirectory(paths, parentOf(to), { parents: 'make', links: 'follow' });
    return paths.using(to, { links, for: 'write' }, async (target) => {
      const count = { files: 0, bytes: 0, skipped: 0 };
      const isCopied = await new Copier({ existing, keep: 'mode', count }).copy(source, target, stats);
      if (!isCopied) throw refused('fs/copy only supports regular files, directories, and symlinks');
      return count;
    });
  });
}

/** What `realpath` says of a path whose end does not exist. */
const leadsNowhere = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);

/** Whether `path`, of which the end need not exist, is `folder` or lies below it. */
async function isInside(paths: Paths, path: NativePath, folder: NativePath): Promise<boolean> {
  const real = namesOf(await canonicalise(paths, folder));
  for (let existing = path; ; existing = parentOf(existing)) {
    try {
      return namesBelow(real, namesOf(await canonicalise(paths, existing))) !== undefined;
    } catch (error) {
      if (!leadsNowhere.has(errnoOf(error) ?? '') || existing.length <= 1) throw error;
    }
  }
}

export interface CopierOptions {
  readonly existing: CopyOptions['existing'];
  readonly keep: Kept;
  readonly count: CopyCount;
}

/** Copies trees from one open folder to another. */
export class Copier {
  readonly #options: CopierOptions;

  constructor(options: CopierOptions) {
    this.#options = options;
  }

  /** False for what is neither file, link nor folder. `stats` are those of the source. */
  async copy(from: Spot, to: Spot, stats: Pick<Stats, 'isDirectory' | 'isFile' | 'isSymbolicLink'>): Promise<boolean> {
    if (stats.isDirectory()) await this.#copyFolder(from, to);
    else if (stats.isSymbolicLink()) await this.#copyLink(from, to);
    else if (stats.isFile()) await this.#copyFile(from, to);
    else return false;
    return true;
  }

  async #copyFile(from: Spot, to: Spot): Promise<void> {
    const { existing, keep, count } = this.#options;
    count.bytes += await copyFile(from, to, { existing: existing === 'refuse' ? 'refuse' : 'overwrite', keep });
    count.files += 1;
  }

  async #copyLink(from: Spot, to: Spot): Promise<void> {
    const text = await fs.readlink(from.path, { encoding: 'buffer' });
    if (this.#options.existing === 'replace') await unlinkIfPresent(to);
    await fs.symlink(text, to.path);
    this.#options.count.files += 1;
  }

  async #copyFolder(from: Spot, to: Spot): Promise<void> {
    await withFolder(from, async (source) => {
      const { mode } = await fs.stat(source.path);
      await this.#makeFolder(to, mode & 0o7777);
      await withFolder(to, async (target) => this.#copyEntries(source, target));
    });
  }

  async #makeFolder(to: Spot, mode: number): Promise<void> {
    try {
      await fs.mkdir(to.path, { mode: mode | 0o700 });
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || this.#options.existing === 'refuse' || !(await isFolder(to))) throw error;
    }
  }

  async #copyEntries(source: Folder, target: Folder): Promise<void> {
    for (const { name, type } of await entriesIn(source)) {
      const from = inFolder(source, name);
      const isCopied = await namingPath(from.shown, async () => this.copy(from, inFolder(target, name), type));
      if (!isCopied) this.#options.count.skipped += 1;
    }
  }
}

async function isFolder(spot: Spot): Promise<boolean> {
  try {
    return (await targetStats(spot)).isDirectory();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false; // a link that leads nowhere
  }
}

async function unlinkIfPresent({ path }: Spot): Promise<void> {
  try {
    await fs.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
