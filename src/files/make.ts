// Makes folders, and files and folders with names that cannot be guessed.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, promises as fs } from 'node:fs';
import { FileError, errnoOf, refused } from './file-error.js';
import { open } from './fs-calls.js';
import { metadata } from './metadata.js';
import { type NativePath, joinPath, parentOf } from './native-path.js';
import type { Paths } from './paths.js';
import { shownText } from '../base/shown-value.js';

export interface MakeDirectoryOptions {
  /** `make`: missing parents are made too, and a folder that exists already is fine. */
  readonly parents: 'make' | 'require';
  readonly links: 'follow' | 'refuse';
  /** 0777 less the umask by default. */
  readonly mode?: number;
}

export async function makeDirectory(paths: Paths, path: NativePath, options: MakeDirectoryOptions): Promise<void> {
  try {
    await makeOne(paths, path, options);
  } catch (error) {
    if (options.parents === 'require' || !(error instanceof FileError)) throw error;
    if (error.errno === 'EEXIST') {
      if (await isDirectory(paths, path, options)) return;
      throw error;
    }
    const parent = parentOf(path);
    if (error.errno !== 'ENOENT' || parent.length === path.length) throw error;
    await makeDirectory(paths, parent, options);
    await makeUnlessMade(paths, path, options);
  }
}

async function makeOne(paths: Paths, path: NativePath, { links, mode }: MakeDirectoryOptions): Promise<void> {
  // mkdir does not follow a link at the end of a path.
  await paths.using(path, { links: links === 'refuse' ? 'refuse' : 'parents', for: 'write' }, async (place) => {
    await fs.mkdir(place.path, { mode: mode ?? 0o777 });
  });
}

async function makeUnlessMade(paths: Paths, path: NativePath, options: MakeDirectoryOptions): Promise<void> {
  try {
    await makeOne(paths, path, options);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST' || !(await isDirectory(paths, path, options))) throw error;
  }
}

async function isDirectory(paths: Paths, path: NativePath, { links }: MakeDirectoryOptions): Promise<boolean> {
  try {
    return (await metadata(paths, path, { links })).kind === 'directory';
  } catch (error) {
    if (error instanceof FileError) return false;
    throw error;
  }
}

export interface MakeTemporaryOptions {
  readonly kind: 'file' | 'directory';
  readonly parent: NativePath;
  /** The name starts with it. */
  readonly prefix?: string;
}

/** Makes an empty file (mode 0600) or folder (mode 0700) and returns its path. The caller removes it. */
export async function makeTemporary(paths: Paths, { kind, parent, prefix = 'tmp-' }: MakeTemporaryOptions): Promise<NativePath> {
  if (/[/\0]/.test(prefix) || Buffer.byteLength(prefix) > longestPrefixBytes) {
    throw refused(`a prefix is at most ${longestPrefixBytes} bytes long, without "/" and NUL, got ${shownText(prefix)}`);
  }
  const path = joinPath(parent, `${prefix}${unguessableName()}`);
  await paths.using(path, { links: 'parents', for: 'write' }, async (place) => {
    if (kind === 'directory') await fs.mkdir(place.path, { mode: 0o700 });
    else closeSync(await open(place.path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | place.openFlags, 0o600));
  });
  return path;
}

/** 96 bits in 24 characters. */
export function unguessableName(): string {
  return randomBytes(12).toString('hex');
}

/** A name has at most 255 bytes on all common file systems; the random part takes 24. */
const longestPrefixBytes = 200;
