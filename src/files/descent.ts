// Finds a path's last folder component by component and resolves links itself, so that nothing outside the roots is ever touched: neither
// by a link, nor by "..", nor by the magic links of /proc, whose text is read like that of any other link.

import { closeSync, constants, promises as fs } from 'node:fs';
import { errnoOf, refused, systemError } from './file-error.js';
import { O_PATH, open, readLink } from './fs-calls.js';
import { type NativePath, joinPath, nativePath, splitPath } from './native-path.js';
import type { HeldRoot, Way } from './roots.js';

export interface DescentOptions {
  /** Finds the root of an absolute path. */
  readonly locate: (parts: readonly NativePath[]) => Way | undefined;
  /** `parents`: the last component is not looked at. `refuse`: nor may any other one be a link. */
  readonly links: 'follow' | 'parents' | 'refuse';
  /** The path in error texts. */
  readonly shown: string;
}

/** Where a descent ends: a name in an open folder. The name is no link if links were followed, and may not exist. */
export interface Arrival {
  readonly fd: number;
  /** `.` for the folder itself. */
  readonly name: NativePath;
  /** The names of the real path. */
  readonly names: readonly NativePath[];
  close(): void;
}

/** Links that one path may go through; the kernel's own limit. */
const mostLinks = 40;

export async function descend(way: Way, options: DescentOptions): Promise<Arrival> {
  const descent = new Descent(way, options);
  try {
    return await descent.run();
  } catch (error) {
    descent.closeAll();
    throw error;
  }
}

/** The folder behind a descriptor, as a path for node:fs, wherever the folder is now. */
export function folderPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

class Descent {
  readonly #options: DescentOptions;
  readonly #opened: { readonly fd: number; readonly name: NativePath }[] = [];
  #root: HeldRoot;
  /** What is left of the path, the next component last. */
  #ahead: NativePath[];
  #followed = 0;

  constructor(way: Way, options: DescentOptions) {
    this.#options = options;
    this.#root = way.root;
    this.#ahead = way.names.toReversed();
  }

  async run(): Promise<Arrival> {
    for (let name = this.#ahead.pop(); name !== undefined; name = this.#ahead.pop()) {
      if (name === '' || name === '.') continue;
      if (name === '..') this.#goUp();
      else if (!this.#isLast()) await this.#enter(name);
      else if (this.#options.links !== 'follow' || !(await this.#follow(name))) return this.#arrival(name);
    }
    return this.#arrival('.');
  }

  closeAll(): void {
    for (const { fd } of this.#opened.splice(0)) closeSync(fd);
  }

  get #top(): number {
    return this.#opened.at(-1)?.fd ?? this.#root.fd;
  }

  #isLast(): boolean {
    return this.#ahead.every((name) => name === '' || name === '.');
  }

  #goUp(): void {
    const left = this.#opened.pop();
    if (left !== undefined) closeSync(left.fd);
    else if (this.#root.real.length > 0) this.#jump([...this.#root.real.slice(0, -1), ...this.#ahead.toReversed()]);
  }

  async #enter(name: NativePath): Promise<void> {
    const path = joinPath(folderPath(this.#top), name);
    try {
      const fd = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      this.#opened.push({ fd, name });
      return;
    } catch (error) {
      if (errnoOf(error) !== 'ENOTDIR') throw error;
    }
    if (this.#options.links === 'refuse') throw systemError('ENOTDIR', this.#options.shown);
    if (await this.#follow(name)) return;
    // Neither a folder nor a link, unless it has become a folder in between.
    this.#countLink();
    if (!(await fs.lstat(path)).isDirectory()) throw systemError('ENOTDIR', this.#options.shown);
    this.#ahead.push(name);
  }

  /** Puts the target of the link ahead. False when there is no link of this name. */
  async #follow(name: NativePath): Promise<boolean> {
    const text = await readLink(joinPath(folderPath(this.#top), name));
    if (text === undefined) return false;
    this.#countLink();
    const parts = splitPath(nativePath(text));
    if (parts[0] === '') this.#jump([...parts, ...this.#ahead.toReversed()]);
    else this.#ahead.push(...parts.toReversed());
    return true;
  }

  #countLink(): void {
    this.#followed += 1;
    if (this.#followed > mostLinks) throw systemError('ELOOP', this.#options.shown);
  }

  #jump(parts: readonly NativePath[]): void {
    const way = this.#options.locate(parts);
    if (way === undefined) throw refused(`"${this.#options.shown}" leads outside the folders this server serves`);
    this.closeAll();
    this.#root = way.root;
    this.#ahead = way.names.toReversed();
  }

  #arrival(name: NativePath): Arrival {
    const names = [...this.#root.real, ...this.#opened.map((folder) => folder.name), ...(name === '.' ? [] : [name])];
    const last = this.#opened.pop();
    this.closeAll();
    if (last === undefined) return { fd: this.#root.fd, name, names, close: () => {} };
    return { fd: last.fd, name, names, close: () => closeSync(last.fd) };
  }
}
