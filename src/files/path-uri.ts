// Paths as callers write them: file: URIs as in Codex's protocol, which keep every byte of a name, and absolute native paths.

import { FileError, refused } from './file-error.js';
import { type NativePath, bytesOf, nativePath, normalizedPath } from './native-path.js';
import { shownText } from '../base/shown-value.js';

/** Codex's form for a path without a faithful URI: the base64url of its bytes follows. */
const opaquePrefix = 'file:///%00/bad/path/';

/** Percent-encoding is decoded to bytes, `..` and a trailing slash are resolved by the text alone. */
export function pathFromUri(text: string): NativePath {
  const url = parsedUrl(text);
  if (url.protocol !== 'file:') throw badUri(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
  if (url.username !== '' || url.password !== '') throw badUri('credentials are not allowed in path URIs');
  if (url.search !== '' || url.href.includes('?')) throw badUri('query parameters are not allowed in path URIs');
  if (url.hash !== '' || url.href.includes('#')) throw badUri('fragments are not allowed in path URIs');
  if (url.href.startsWith(opaquePrefix)) return opaquePath(url.href);
  if (url.pathname.includes('%00')) throw badUri(foreign(url.href).message);
  if (url.host !== '' || startsWithDrive(url.pathname)) throw foreign(url.href);
  const path = url.pathname.includes('%') ? nativePath(percentDecoded(url.pathname)) : url.pathname;
  return normalizedPath(path);
}

/** The URI of an absolute path; what `pathFromUri` turns into the same bytes again. */
export function uriOfPath(path: NativePath): string {
  const bytes = bytesOf(path);
  const text = bytes.toString('latin1');
  if (text.includes('\0') || startsWithDrive(text)) return opaquePrefix + bytes.toString('base64url');
  return `file://${text.replaceAll(encodedInUri, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)}`;
}

/** For our own calls: an absolute native path, or a file: URI, which can name bytes that are not UTF-8. */
export function pathFromUser(text: string): NativePath {
  if (/^file:/i.test(text)) return pathFromUri(text);
  if (!text.startsWith('/')) throw refused(`a path must be absolute or a file: URI, got ${shownText(text)}`);
  if (text.includes('\0')) throw refused(`a path must not contain a NUL character, got ${shownText(text)}`);
  return normalizedPath(text);
}

/** A path for a caller: its text, or its URI when it is not UTF-8. `pathFromUser` reads both. */
export function shownPath(path: NativePath): string {
  return typeof path === 'string' ? path : uriOfPath(path);
}

/** All but the printable ASCII characters that the URL standard leaves as they are in a path. */
const encodedInUri = /[^!$&'()*+,\-./0-9:;=@A-Z[\]_a-z|~]/g;

/** The URL standard reads `c|` as `c:`. */
function startsWithDrive(path: string): boolean {
  return /^\/+[A-Za-z][:|](?:\/|$)/.test(path);
}

function parsedUrl(text: string): URL {
  try {
    return new URL(text);
  } catch (cause) {
    const why = /^[A-Za-z][A-Za-z\d+.-]*:/.test(text) ? 'invalid URL' : 'relative URL without a base';
    throw new FileError('badUri', `invalid URI: ${why}`, { cause });
  }
}

function opaquePath(href: string): NativePath {
  const bytes = Buffer.from(href.slice(opaquePrefix.length), 'base64url');
  // A path that has a URI of its own is not accepted in this form, so every path has exactly one.
  if (bytes.at(0) !== 0x2f || uriOfPath(bytes) !== href) throw foreign(href);
  if (bytes.includes(0)) throw refused(`a path must not contain a NUL character, got '${href}'`);
  return normalizedPath(nativePath(bytes));
}

function percentDecoded(text: string): Buffer {
  const decoded = text.replaceAll(/%([\dA-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(decoded, 'latin1'); // the URL parser has left nothing but ASCII
}

function badUri(message: string): FileError {
  return new FileError('badUri', message);
}

function foreign(href: string): FileError {
  return refused(`'${href}' is invalid on '${process.platform === 'darwin' ? 'macos' : process.platform}'`);
}
