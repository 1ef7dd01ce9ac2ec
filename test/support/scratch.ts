// A temporary folder for one test, removed with everything in it.

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** For tests with thousands of files, which take seconds on a busy disk. May hold a few megabytes only. */
export const memoryFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** File → its text, folder → `{}`, link → `{ link: 'where' }`. Parents are made. */
export type Contents = Readonly<Record<string, string | { readonly link?: string }>>;

export class Scratch implements Disposable {
  readonly path: string;

  constructor(contents: Contents = {}, parent: string = tmpdir()) {
    this.path = mkdtempSync(join(parent, 'sluice-files-'));
    this.add(contents);
  }

  add(contents: Contents): void {
    for (const [name, what] of Object.entries(contents)) {
      const path = this.at(name);
      mkdirSync(dirname(path), { recursive: true });
      if (typeof what === 'string') writeFileSync(path, what);
      else if (what.link === undefined) mkdirSync(path, { recursive: true });
      else symlinkSync(what.link, path);
    }
  }

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  text(name: string): string {
    return readFileSync(this.at(name), 'utf8');
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Everything below a folder, in order: path, mode, and text or target. */
export function treeOf(folder: string, prefix = ''): string[] {
  return readdirSync(folder, { encoding: 'buffer' })
    .toSorted((one, other) => Buffer.compare(one, other))
    .flatMap((name) => {
      const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
      const stats = lstatSync(path);
      const line = `${prefix}${name.toString('latin1')} ${stats.mode.toString(8)}`;
      if (stats.isDirectory()) return [line, ...treeOf(path.toString(), `${prefix}${name.toString('latin1')}/`)];
      if (stats.isSymbolicLink()) return [`${line} -> ${readlinkSync(path)}`];
      return [stats.isFile() ? `${line} ${readFileSync(path, 'latin1')}` : line];
    });
}
