// Everything about a tree that a faithful copy keeps, as a value that tests compare.

import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createHash } from 'node:crypto';

/** Relative path (one character per byte) → kind, mode, time of change in microseconds, and contents or target. */
export function treeSnapshot(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (prefix: string): void => {
    for (const name of readdirSync(path(folder, prefix), 'latin1')) {
      const relative = prefix + name;
      const stats = lstatSync(path(folder, relative));
      const about = `${(stats.mode & 0o7777).toString(8)} ${Math.floor(stats.mtimeMs * 1_000)}`;
      if (stats.isDirectory()) {
        found[relative] = `folder ${about}`;
        visit(`${relative}/`);
      } else if (stats.isSymbolicLink()) found[relative] = `link ${readlinkSync(path(folder, relative), 'latin1')}`;
      else if (stats.isFile()) found[relative] = `file ${about} ${stats.size} ${digest(readFileSync(path(folder, relative)))}`;
      else found[relative] = 'other';
    }
  };
  visit('');
  return found;
}

/** Names of files only, sorted. */
export function namesBelow(folder: string): string[] {
  return Object.keys(treeSnapshot(folder)).toSorted();
}

function path(folder: string, relative: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(relative, 'latin1')]);
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
