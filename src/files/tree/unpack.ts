// Unpacks a tar archive below a folder, and never outside it. A file appears under its name when it is complete: after a transfer that
// stopped in the middle, or a kill, each file is whole, the old one or the new one.

import { mkdirSync, writeSync } from 'node:fs';
import { errnoOf, fileErrorOf, namingPath, refused } from '../file-error.js';
import { writeAll } from '../fs-calls.js';
import { shownKey } from '../held-folder.js';
import { StagedFile } from '../staged-file.js';
import { Staging, type StagingOptions } from '../staging.js';
import { ArchiveBytes } from './archive-bytes.js';
import { parted } from './entry-path.js';
import { FolderStack, type Owners, setMetadata } from './folder-stack.js';
import { makeHardLink, makeLink } from './link-entries.js';
import { smallFile } from './pack.js';
import type { Spot } from '../place.js';
import { Slice } from './slice.js';
import { paddingOf } from './tar-format.js';
import { type ArchivedEntry, TarReader, malformed } from './tar-reader.js';
import { type TreeProgress, type TreeResult, TreeTally } from './tree-result.js';
import { openTree } from './held-walk.js';

export interface UnpackOptions {
  /** `own` unless said otherwise. */
  readonly owners?: Owners | undefined;
  readonly staging?: StagingOptions | undefined;
  /** Called for each chunk. */
  readonly onProgress?: ((progress: TreeProgress) => void) | undefined;
  /** Checked between entries and chunks; it does not end the wait for a chunk. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes the destination unless it exists. What is in it stays, except for files and links that the archive replaces; modes and times of
 * its folders become those of the archive. Fails if the archive ends before its end mark. Keeps the memory of a chunk until it is written.
 */
export async function unpackTree(
  destination: Spot,
  chunks: AsyncIterable<Uint8Array>,
  options: UnpackOptions = {},
): Promise<TreeResult> {
  const tally = new TreeTally();
  const bytes = new ArchiveBytes(chunks, (chunk) => {
    tally.hash(chunk);
    options.onProgress?.(tally.progress());
  });
  try {
    const owners = options.owners ?? 'own';
    const folders = new FolderStack(openDestination(destination), owners);
    const staging = new Staging(options.staging);
    try {
      await unpackEntries({ bytes, folders, owners, staging, tally, signal: options.signal });
      folders.finish();
    } finally {
      staging.close();
      folders.close();
    }
    while ((await bytes.more()) === 'more') bytes.discard();
    return tally.result();
  } finally {
    await bytes.close();
  }
}

interface Unpacking {
  readonly bytes: ArchiveBytes;
  readonly folders: FolderStack;
  readonly owners: Owners;
  readonly staging: Staging;
  readonly tally: TreeTally;
  readonly signal: AbortSignal | undefined;
}

async function unpackEntries(unpacking: Unpacking): Promise<void> {
  const { bytes, tally, signal } = unpacking;
  const slice = new Slice();
  const reader = new TarReader(bytes);
  for (;;) {
    signal?.throwIfAborted();
    if (slice.isOver()) await slice.next();
    const entry = reader.next();
    if (entry === 'end') return;
    if (entry === 'more') {
      await moreOf(bytes);
      continue;
    }
    tally.path = entry.path;
    const length = entry.size + paddingOf(entry.size);
    if (entry.kind !== 'file') {
      named(entry, () => placeEntry(unpacking, entry));
      await skip(bytes, length);
    } else if (entry.size <= smallFile) {
      let padded = bytes.take(length);
      for (; padded === undefined; padded = bytes.take(length)) await moreOf(bytes);
      const contents = padded;
      named(entry, () => writeSmall(unpacking, entry, contents));
    } else {
      await writeLarge(unpacking, entry);
      await skip(bytes, paddingOf(entry.size));
    }
  }
}

function writeSmall(unpacking: Unpacking, entry: ArchivedEntry, padded: Buffer): void {
  const staged = stage(unpacking, entry);
  try {
    for (let at = 0; at < entry.size;) at += writeSync(staged.fd, padded, at, entry.size - at);
    publish(unpacking, entry, staged);
  } finally {
    staged.close();
  }
  unpacking.tally.bytes += entry.size;
}

async function writeLarge(unpacking: Unpacking, entry: ArchivedEntry): Promise<void> {
  const { bytes, tally, signal } = unpacking;
  const staged = named(entry, () => stage(unpacking, entry));
  try {
    for (let left = entry.size; left > 0;) {
      signal?.throwIfAborted();
      const piece = bytes.takeSome(left);
      if (piece.length === 0) await moreOf(bytes);
      await namingPath(shownKey(entry.path), async () => writeAll(staged.fd, piece, null));
      left -= piece.length;
      tally.bytes += piece.length;
    }
    named(entry, () => publish(unpacking, entry, staged));
  } finally {
    staged.close();
  }
}

/** The caller closes it before the folder changes. */
function stage({ folders, staging }: Unpacking, entry: ArchivedEntry): StagedFile {
  const { folder, name } = parted(entry.path);
  if (name === '') throw refused('the archive has a file in the place of the tree itself');
  return StagedFile.open(folders.at(folder), { staging, mode: 0o600 });
}

function publish({ owners, tally }: Unpacking, entry: ArchivedEntry, staged: StagedFile): void {
  setMetadata(staged.fd, entry, owners);
  staged.publish(parted(entry.path).name, 'replace');
  tally.files += 1;
}

function placeEntry({ folders, owners, staging, tally }: Unpacking, entry: ArchivedEntry): void {
  switch (entry.kind) {
    case 'file':
      return; // the caller's
    case 'folder':
      if (entry.path === '') return;
      folders.make(entry.path, entry);
      tally.folders += 1;
      return;
    case 'link':
      makeLink(folders, entry, { owners, staging });
      tally.links += 1;
      return;
    case 'hardLink':
      makeHardLink(folders, entry, { owners, staging });
      tally.files += 1;
      return;
    case 'fifo':
    case 'device':
      tally.skip(entry.path, entry.kind);
      return;
    case 'unknown':
      tally.skip(entry.path, 'unknown kind of entry');
  }
}

async function skip(bytes: ArchiveBytes, count: number): Promise<void> {
  for (let left = count; left > 0;) {
    const { length } = bytes.takeSome(left);
    if (length === 0) await moreOf(bytes);
    left -= length;
  }
}

async function moreOf(bytes: ArchiveBytes): Promise<void> {
  if ((await bytes.more()) === 'ended') throw malformed('ends too early: its end mark is missing');
}

/** Errors name the entry. */
function named<T>({ path }: ArchivedEntry, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileErrorOf(error, shownKey(path));
  }
}

function openDestination(destination: Spot): ReturnType<typeof openTree> {
  try {
    mkdirSync(destination.path);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw fileErrorOf(error, destination.shown);
  }
  return openTree(destination);
}
