// Paths as the kernel takes them: bytes. A string where they are UTF-8, which is nearly always, and a Buffer where they are not.

import { isUtf8 } from 'node:buffer';

/** What node:fs accepts. A Buffer is used only for bytes that are not UTF-8, so equal paths have equal types. */
export type NativePath = string | Buffer;

export function nativePath(bytes: Buffer): NativePath {
  return isUtf8(bytes) ? bytes.toString('utf8') : bytes;
}

export function bytesOf(path: NativePath): Buffer {
  return typeof path === 'string' ? Buffer.from(path) : path;
}

/** `name` below `folder`. */
export function joinPath(folder: NativePath, name: NativePath): NativePath {
  if (typeof folder === 'string') {
    const prefix = folder.endsWith('/') ? folder : `${folder}/`;
    return typeof name === 'string' ? `${prefix}${name}` : Buffer.concat([Buffer.from(prefix), name]);
  }
  return Buffer.concat(folder.at(-1) === slash ? [folder, bytesOf(name)] : [folder, Buffer.of(slash), bytesOf(name)]);
}

/** The parts between the slashes, empty ones included. */
export function splitPath(path: NativePath): NativePath[] {
  if (typeof path === 'string') return path.split('/');
  const parts: NativePath[] = [];
  let start = 0;
  for (let at = path.indexOf(slash); at >= 0; at = path.indexOf(slash, start)) {
    parts.push(nativePath(path.subarray(start, at)));
    start = at + 1;
  }
  return [...parts, nativePath(path.subarray(start))];
}

/** The names of an absolute path, with `.`, `..` and doubled slashes resolved by their text alone: no link is looked at. */
export function namesOf(path: NativePath): NativePath[] {
  const names: NativePath[] = [];
  for (const part of splitPath(path)) {
    if (part === '..') names.pop();
    else if (part !== '' && part !== '.') names.push(part);
  }
  return names;
}

/** The absolute path with these names. */
export function absolutePath(names: readonly NativePath[]): NativePath {
  const path = relativePath(names);
  return typeof path === 'string' ? `/${path}` : Buffer.concat([Buffer.of(slash), path]);
}

/** These names with slashes between them. */
export function relativePath(names: readonly NativePath[]): NativePath {
  if (names.every((name) => typeof name === 'string')) return names.join('/');
  return Buffer.concat(names.flatMap((name, at) => (at === 0 ? [bytesOf(name)] : [Buffer.of(slash), bytesOf(name)])));
}

/** The folder that contains it, by the text; `/` contains itself. */
export function parentOf(path: NativePath): NativePath {
  return absolutePath(namesOf(path).slice(0, -1));
}

export function normalizedPath(path: NativePath): NativePath {
  return isNormalized(path) ? path : absolutePath(namesOf(path));
}

/** Absolute, without `.`, `..`, doubled or trailing slashes. */
export function isNormalized(path: NativePath): boolean {
  const text = typeof path === 'string' ? path : path.toString('latin1');
  return text === '/' || (text.startsWith('/') && !unnormalized.test(text));
}

const unnormalized = /\/(?:\.{0,2}\/|\.{0,2}$)/;
const slash = 0x2f;

export function isSamePath(one: NativePath, other: NativePath): boolean {
  return typeof one === 'string' || typeof other === 'string' ? one === other : one.equals(other);
}

/** The names below `folder`, or undefined when `names` is not the folder itself and does not lie below it. */
export function namesBelow(folder: readonly NativePath[], names: readonly NativePath[]): NativePath[] | undefined {
  if (names.length < folder.length) return undefined;
  return folder.every((name, at) => isSamePath(name, names[at] ?? '')) ? names.slice(folder.length) : undefined;
}
