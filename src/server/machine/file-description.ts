// Describes files in the terms of the protocol. A path that is not UTF-8 is written as a URI, and a relative one behind a NUL, which no path
// can contain.

import { type DigestEntry, type ListedEntry, type Metadata, type NativePath, shownPath } from '../../files/index.js';
import type { FileEntry, FileStatus, Result } from '../../protocol/index.js';

const opaqueMark = '\0';

export function statusOf(path: NativePath, found: Metadata): FileStatus {
  const { kind, size, modifiedAtMs, createdAtMs, mode, uid, gid, device, inode, target } = found;
  return {
    path: shownPath(path),
    kind,
    size,
    modifiedAtMs,
    ...(createdAtMs > 0 ? { createdAtMs } : {}),
    permissions: mode,
    uid,
    gid,
    inode: `${device}:${inode}`,
    ...(target === undefined ? {} : { target: target.toString() }),
  };
}

export function entryOf(path: NativePath, { name, kind, size, modifiedAtMs, mode, target }: ListedEntry): FileEntry {
  return {
    name: name.toString(),
    path: shownPath(path),
    kind,
    size,
    modifiedAtMs,
    permissions: mode,
    ...(target === undefined ? {} : { target: target.toString() }),
  };
}

export function digestOf(entry: DigestEntry): Result<'files/digest'>['entries'][number] {
  const { path, kind, size, modifiedAtMs, mode, sha256, target } = entry;
  return {
    relativePath: relativeText(path),
    kind,
    size,
    modifiedAtMs,
    permissions: mode,
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(target === undefined ? {} : { target: relativeText(target) }),
  };
}

export function relativeText(path: NativePath): string {
  if (typeof path === 'string') return path;
  return `${opaqueMark}${path.toString('base64url')}`;
}

export function relativeFrom(text: string): NativePath {
  return text.startsWith(opaqueMark) ? Buffer.from(text.slice(opaqueMark.length), 'base64url') : text;
}
