// The paths of an archive's entries, as text. Nothing here looks at files.

import { refused } from '../file-error.js';
import { shownKey } from '../held-folder.js';

/** The parts of a path without a slash at its end; `folder` is '' at the root. */
export function parted(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf('/');
  return { folder: slash < 0 ? '' : path.slice(0, slash), name: path.slice(slash + 1) };
}

/** An archive's path without `.` and doubled slashes; '' is the tree itself. Refuses whatever could lead out of it. */
export function pathBelow(archived: string): string {
  if (isPlain.test(archived)) return archived;
  if (archived.startsWith('/')) throw refused(`the archive has an absolute path: "${shownKey(archived)}"`);
  const names = archived.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw refused(`the archive has a path with "..": "${shownKey(archived)}"`);
  if (archived.includes('\0')) throw refused(`the archive has a path with a NUL character: "${shownKey(archived)}"`);
  return names.join('/');
}

/** Most paths need no second look: no name begins with a dot, and there are no empty names. */
const isPlain = /^[^./\0][^/\0]*(?:\/[^./\0][^/\0]*)*$/;
