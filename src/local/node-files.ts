// The files of this machine through Node, for transfers.

import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { globMatcher } from '../base/glob.js';
import type { LocalFile, LocalFiles, LocalTreeOptions, PackOptions } from '../client/index.js';
import {
  type NativePath,
  type TreeResult as Packed,
  type TreeProgress,
  packTree,
  splitPath,
  unpackTree,
} from '../files/index.js';
import type { TreeResult } from '../protocol/index.js';
import { relativeText } from '../server/machine/file-description.js';

/** Bytes of a file that are read at once: a few frames of a flow. */
const readBytes = 256 * 1024;

export const nodeFiles: LocalFiles = {
  sha256: () => {
    const hash = createHash('sha256');
    return { update: (bytes) => void hash.update(bytes), digest: () => hash.digest('hex') };
  },
  stat: statFile,
  nameOf: (file) => path.basename(path.resolve(file)),
  join: (folder, name) => path.join(folder, path.basename(name)),
  read: (file) => createReadStream(file, { highWaterMark: readBytes }),
  replace: replaceFile,
  pack,
  unpack: async (folder, chunks, options) => described(await unpackTree(spotOf(folder), chunks, watched(options))),
  digest: () => {
    throw new Error('not implemented');
  },
};

async function* pack(folder: string, options: PackOptions): AsyncGenerator<Uint8Array, TreeResult> {
  const { exclude = [], isEqual = () => false } = options;
  const matches = globMatcher(exclude, 'exactCase');
  const isLeftOut = (relative: NativePath): boolean => {
    const text = relativeText(relative);
    return matches(text) || matches(relativeText(splitPath(relative).at(-1) ?? '')) || isEqual(text);
  };
  return described(yield* packTree(spotOf(folder), { ...watched(options), exclude: isLeftOut }));
}

/** Links on the way are followed. */
function spotOf(folder: string) {
  return { path: path.resolve(folder), openFlags: 0, shown: folder };
}

function watched({ signal, onProgress }: LocalTreeOptions) {
  const tell = ({ path: relative, ...rest }: TreeProgress): void => onProgress?.({ ...rest, path: relative.toString() });
  return { signal, ...(onProgress === undefined ? {} : { onProgress: tell }) };
}

function described({ skipped, ...counts }: Packed): TreeResult {
  return { ...counts, skipped: skipped.map(({ path: relative, reason }) => ({ path: relativeText(relative), problem: reason })) };
}

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

/** Follows a link, and keeps the permissions of an existing file. What is not a file, such as a device, is written to. */
async function replaceFile(file: string, chunks: AsyncIterable<Uint8Array>, permissions: number): Promise<void> {
  const old = await statFile(file);
  if (old !== undefined && old.kind !== 'file') {
    await using target = await open(file, 'w');
    return await writeAll(target, chunks);
  }
  const real = old === undefined ? file : await realpath(file);
  const temporary = path.join(path.dirname(real), `.${path.basename(real)}.${randomBytes(6).toString('hex')}.part`);
  try {
    await using target = await open(temporary, 'wx', old?.permissions ?? permissions);
    await writeAll(target, chunks);
    if (old !== undefined) await target.chmod(old.permissions); // the umask does not apply to what was there
    await rename(temporary, real);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeAll(target: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) await target.writeFile(chunk);
}
