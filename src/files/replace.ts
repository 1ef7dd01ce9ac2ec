// Replaces a file in one step: the new contents are collected beside it and take its name when they are complete, so a reader sees the old
// file or the new one. Where no rename is possible, they are copied into the file in place, and the result says so.

import {
  type Stats,
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  promises as fs,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { copyAttributes } from './extended-attributes.js';
import { errnoOf, namingPath } from './file-error.js';
import { type FileWriter, type WriteOptions, WriterTurns, type WrittenFile, judge, syncFile } from './file-writer.js';
import { keyOf, nameOf } from './folder.js';
import { O_PATH, open, readLink, readSome, truncate, writeAll } from './fs-calls.js';
import { HeldFolder } from './held-folder.js';
import { metadataOf } from './metadata.js';
import { type NativePath, joinPath, namesOf, nativePath, parentOf } from './native-path.js';
import { type Place, linkError } from './place.js';
import { StagedFile } from './staged-file.js';
import { Staging, type StagingOptions } from './staging.js';

export interface ReplaceOptions extends WriteOptions {
  readonly staging?: StagingOptions | undefined;
}

/**
 * A place whose links are to be followed: the target of a link is replaced, and the link stays. The place may be closed once this resolves.
 * The file keeps its mode, owner and extended attributes; its other hard links keep the old contents. Bits that lend rights (setuid,
 * setgid) go, as with every write. With `expected: 'absent'`, the file is created, or nothing is done.
 */
export async function replaceFile(place: Place, options: ReplaceOptions = {}): Promise<FileWriter> {
  return namingPath(place.shown, async () => {
    const { path, name } = await targetOf(place);
    const folder = HeldFolder.open(path, withoutReading);
    try {
      const found = statsAt(folder, name);
      if (found?.isSymbolicLink() === true) throw linkError(place);
      judge(found, { expected: options.expected, shown: place.shown });
      // A rename needs no right to write to the file, but this does.
      if (found !== undefined) accessSync(folder.pathOf(name), constants.W_OK);
      return writerOf({ ...stage(folder, found, options), folder, name, shown: place.shown, options });
    } catch (error) {
      folder.close();
      throw error;
    }
  });
}

interface Replacement extends Stage {
  readonly folder: HeldFolder;
  readonly name: string;
  readonly shown: string;
  readonly options: ReplaceOptions;
}

interface Stage {
  readonly staging: Staging;
  readonly staged: StagedFile;
  /** Where the contents are collected if the file's own folder takes no new file; then they are copied in place. */
  readonly elsewhere: HeldFolder | undefined;
}

function stage(folder: HeldFolder, found: Stats | undefined, options: ReplaceOptions): Stage {
  const staging = new Staging(options.staging);
  try {
    const staged = StagedFile.open(folder, { staging, mode: found === undefined ? 0o666 : 0o600 });
    return { staging, staged, elsewhere: undefined };
  } catch (error) {
    staging.close();
    if (found === undefined || !noRename.has(errnoOf(error) ?? '')) throw error;
  }
  const elsewhere = HeldFolder.open(tmpdir(), withoutReading);
  try {
    return { staging, staged: StagedFile.open(elsewhere, { staging, mode: 0o600 }), elsewhere };
  } catch (error) {
    elsewhere.close();
    throw error;
  }
}

/** A folder that may be entered but not listed is enough. */
const withoutReading = process.platform === 'linux' ? O_PATH : 0;

/** Why a folder takes no new file, or a rename fails, although the file itself may be written: rights, or a mount point. */
const noRename = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV']);

function writerOf(replacement: Replacement): FileWriter {
  const { staged, staging, folder, elsewhere, shown } = replacement;
  const turns = new WriterTurns(() => {
    staged.close();
    staging.close();
    elsewhere?.close();
    folder.close();
  });
  return {
    write: async (chunk) => turns.take('one', async () => namingPath(shown, async () => writeAll(staged.fd, chunk, null))),
    commit: async () => turns.take('last', async () => namingPath(shown, async () => commit(replacement))),
    abort: async () => turns.end(),
  };
}

async function commit(replacement: Replacement): Promise<WrittenFile> {
  const { staged, folder, name, shown, options, elsewhere } = replacement;
  if (options.durability === 'fsync') await syncFile(staged.fd);
  // From here to the rename everything is synchronous, so that the judgement is as fresh as can be.
  const found = statsAt(folder, name);
  judge(found, { expected: options.expected, shown });
  if (elsewhere !== undefined || !publish(replacement, found)) return copyInPlace(replacement);
  const metadata = metadataOf(fstatSync(staged.fd));
  if (options.durability === 'fsync') await syncFolder(folder);
  return { how: found === undefined ? 'created' : 'renamed', metadata };
}

/** The new name too is to survive a power failure. */
async function syncFolder(folder: HeldFolder): Promise<void> {
  const fd = await open(folder.pathOf('.'), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await syncFile(fd);
  } finally {
    closeSync(fd);
  }
}

/** False if there is a file that only a write in place can change, or can change without changing its owner. */
function publish({ staged, folder, name, options }: Replacement, found: Stats | undefined): boolean {
  try {
    if (found !== undefined) keepOwner(staged.fd, found);
    const mode = options.mode ?? (found === undefined ? undefined : found.mode & 0o777);
    if (mode !== undefined) fchmodSync(staged.fd, mode);
    if (found !== undefined) copyAttributes(folder, name, staged.fd);
    staged.publish(name, options.expected === 'absent' ? 'create' : 'replace');
    return true;
  } catch (error) {
    if (found === undefined || !noRename.has(errnoOf(error) ?? '')) throw error;
    return false;
  }
}

function keepOwner(fd: number, { uid, gid }: Stats): void {
  const own = fstatSync(fd);
  if (own.uid !== uid || own.gid !== gid) fchownSync(fd, uid, gid);
}

/** Bytes read and written at a time. */
const copiedBytes = 1024 * 1024;

async function copyInPlace({ staged, folder, name, options }: Replacement): Promise<WrittenFile> {
  const fd = folder.openFile(name, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.allocUnsafe(copiedBytes);
    let size = 0;
    for (let count = -1; count !== 0; size += count) {
      count = await readSome(staged.fd, buffer, size);
      await writeAll(fd, buffer.subarray(0, count), size);
    }
    await truncate(fd, size);
    if (options.mode !== undefined) fchmodSync(fd, options.mode);
    if (options.durability === 'fsync') await syncFile(fd);
    return { how: 'inPlace', metadata: metadataOf(fstatSync(fd)) };
  } finally {
    closeSync(fd);
  }
}

function statsAt(folder: HeldFolder, name: string): Stats | undefined {
  return lstatSync(folder.pathOf(name), { throwIfNoEntry: false });
}

interface Target {
  /** Of the folder. */
  readonly path: NativePath;
  readonly name: string;
}

/** Links that lead to each other end here; as many as Linux follows. */
const mostLinks = 40;

/** The folder and the name behind all links. The file may be missing, also behind a link. */
async function targetOf(place: Place): Promise<Target> {
  // The place of a confined server is free of links already.
  if (place.openFlags !== 0) return { path: place.folder, name: keyOf(place.name) };
  let { path } = place;
  for (let links = 0; links < mostLinks; links += 1) {
    const real = await realPath(path);
    if (real !== undefined) return targetAt(parentOf(real), real);
    const folder = nativePath(await fs.realpath(folderIn(path), { encoding: 'buffer' }));
    const link = await readLink(path);
    if (link === undefined) return targetAt(folder, path);
    path = link.at(0) === slash ? nativePath(link) : joinPath(folder, nativePath(link));
  }
  throw linkError(place);
}

const slash = 0x2f;

/** By its text: what `..` after a link means is for the kernel to say. */
function folderIn(path: NativePath): NativePath {
  const key = keyOf(path);
  return nameOf(key.slice(0, Math.max(key.lastIndexOf('/'), 1)));
}

function targetAt(folder: NativePath, path: NativePath): Target {
  return { path: folder, name: keyOf(namesOf(path).at(-1) ?? '.') };
}

async function realPath(path: NativePath): Promise<NativePath | undefined> {
  try {
    return nativePath(await fs.realpath(path, { encoding: 'buffer' }));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    return undefined;
  }
}
