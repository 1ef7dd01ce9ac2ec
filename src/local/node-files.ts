// The files of this machine through Node, for transfers.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { DigestEntry, LocalFile, LocalFiles, LocalTreeOptions, PackOptions } from '../client/index.js';
import { type NativePath, Paths, type TreeProgress, digestTree, packTree, replaceFile, unpackTree } from '../files/index.js';
import type { TreeResult } from '../protocol/index.js';
import { digestOf, relativeText } from '../server/machine/file-description.js';
import { exclusionOf, treeResultOf } from '../server/machine/tree-description.js';

/** Bytes of a file that are read at once: a few frames of a flow. */
const readBytes = 256 * 1024;

/** Entries that are described at once; a few hundred bytes each. */
const digestsPerPage = 4_096;

/** This program may do what its user may. */
const unconfined = Paths.open();

export const nodeFiles: LocalFiles = {
  sha256: () => {
    const hash = createHash('sha256');
    return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest('hex') };
  },
  stat: statFile,
  nameOf: (file) => path.basename(path.resolve(file)),
  join: (folder, name) => path.join(folder, path.basename(name)),
  read: (file) => createReadStream(file, { highWaterMark: readBytes }),
  replace,
  pack,
  unpack: async (folder, chunks, options) => treeResultOf(await unpackTree(spotOf(folder), chunks, watched(options))),
  digest,
};

async function statFile(file: string): Promise<LocalFile | undefined> {
  try {
    const found = await stat(file);
    const kind = found.isDirectory() ? 'directory' : found.isFile() ? 'file' : 'other';
    return { kind, size: found.size, permissions: found.mode & 0o7777 };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function replace(file: string, chunks: AsyncIterable<Uint8Array>, permissions: number): Promise<void> {
  const options = (await statFile(file)) === undefined ? { mode: permissions } : {};
  const target = path.resolve(file);
  const writer = await unconfined.using(target, { links: 'follow', for: 'write' }, (place) => replaceFile(place, options));
  try {
    for await (const chunk of chunks) await writer.write(chunk);
    await writer.commit();
  } finally {
    await writer.abort(); // does nothing after a commit
  }
}

async function* pack(folder: string, options: PackOptions): AsyncGenerator<Uint8Array, TreeResult> {
  const { exclude = [], isEqual = () => false } = options;
  const isExcluded = exclusionOf(exclude);
  const isLeftOut = (relative: NativePath): boolean => isExcluded(relative) || isEqual(relativeText(relative));
  return treeResultOf(yield* packTree(spotOf(folder), { ...watched(options), exclude: isLeftOut }));
}

async function* digest(folder: string): AsyncGenerator<DigestEntry> {
  if ((await statFile(folder)) === undefined) return;
  let page = await digestTree(spotOf(folder), { limit: digestsPerPage });
  for (;;) {
    for (const entry of page.entries) yield digestOf(entry);
    if (page.next === undefined) return;
    page = await digestTree(spotOf(folder), { limit: digestsPerPage, after: page.next });
  }
}

/** Links on the way are followed. */
function spotOf(folder: string) {
  return { path: path.resolve(folder), openFlags: 0, shown: folder };
}

function watched({ signal, onProgress }: LocalTreeOptions) {
  const tell = ({ path: relative, ...rest }: TreeProgress): void => onProgress?.({ ...rest, path: relative.toString() });
  return { signal, ...(onProgress === undefined ? {} : { onProgress: tell }) };
}
