// Which files a server's callers may reach, and the way there. Every operation of a confined server acts on a name in a folder that was
// opened below one of its roots, so no path escapes by "..", by links, by /proc/self/root or by a change made meanwhile. Mounts below a
// root belong to it. Hard links are not covered: a file linked into a root is a file of that root.

import { closeSync } from 'node:fs';
import { type OpenBeneath, loadOpenBeneath } from './beneath.js';
import { type Arrival, descend, folderPath } from './descent.js';
import { FileError, errnoOf, fileErrorOf, refused } from './file-error.js';
import { readLink } from './fs-calls.js';
import { type NativePath, absolutePath, isNormalized, joinPath, namesOf, relativePath } from './native-path.js';
import { shownPath } from './path-uri.js';
import { type Place, type PlaceOptions, canHoldFolders, heldPlace, plainPlace } from './place.js';
import { type HeldRoot, type Way, holdRoot, locate } from './roots.js';

/** What callers may do with files. */
export type Access = 'write' | 'read' | 'none';

export interface PathsOptions {
  /** Absolute paths of existing folders. Without them, every path is served. */
  readonly roots?: readonly string[];
  /** `write` by default. */
  readonly access?: Access;
  /** For tests: without `openat2`, every path is found by descent. */
  readonly openat2?: 'use' | 'avoid';
}

/** How often a place is sought again when its last component has become a link before it was opened. */
const mostAttempts = 8;

export class Paths {
  readonly #roots: readonly HeldRoot[];
  readonly #access: Access;
  readonly #openBeneath: OpenBeneath | undefined;
  /** The root of all paths, held from first use by a server without roots. */
  #wholeTree: HeldRoot | undefined;

  private constructor(roots: readonly HeldRoot[], options: PathsOptions) {
    this.#roots = roots;
    this.#access = options.access ?? 'write';
    this.#openBeneath = options.openat2 === 'avoid' ? undefined : loadOpenBeneath();
  }

  /** Throws a FileError when a root is missing or no folder, or when this machine cannot confine callers. */
  static open(options: PathsOptions = {}): Paths {
    const roots = options.roots ?? [];
    if (roots.length > 0 && !canHoldFolders()) {
      throw refused('callers cannot be confined to folders on this machine: it has no /proc/self/fd');
    }
    const held: HeldRoot[] = [];
    try {
      for (const root of roots) held.push(holdRoot(root));
    } catch (error) {
      for (const { fd } of held) closeSync(fd);
      throw error;
    }
    return new Paths(held, options);
  }

  get access(): Access {
    return this.#access;
  }

  /** The roots by their real paths; undefined when every path is served. */
  get roots(): readonly NativePath[] | undefined {
    return this.#roots.length === 0 ? undefined : this.#roots.map(({ real }) => absolutePath(real));
  }

  close(): void {
    for (const { fd } of this.#roots) closeSync(fd);
    if (this.#wholeTree !== undefined) closeSync(this.#wholeTree.fd);
    this.#wholeTree = undefined;
  }

  /** Opens the folder that contains the path. The caller closes the place. */
  async at(path: NativePath, options: PlaceOptions): Promise<Place> {
    this.#judge(options);
    const shown = shownPath(path);
    if (options.links === 'refuse' && !isNormalized(path)) {
      throw refused(`a path whose links are refused must be absolute and normalized, got "${shown}"`);
    }
    if (this.#isPlain(options)) return plainPlace(path, options);
    const way = this.#locate(namesOf(path));
    if (way === undefined) {
      throw new FileError('notFound', `"${shown}" is outside the folders this server serves`, { errno: 'ENOENT' });
    }
    try {
      return heldPlace((await this.#shortcut(way, options)) ?? (await this.#descend(way, options, shown)), shown);
    } catch (error) {
      throw fileErrorOf(error, shown);
    }
  }

  /** Calls `act` with the place of a path and closes the place. Repeats both when the place turns out to have become a link meanwhile. */
  async using<T>(path: NativePath, options: PlaceOptions, act: (place: Place) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const place = await this.at(path, options);
      try {
        return await act(place);
      } catch (error) {
        if (errnoOf(error) !== 'ELOOP' || options.links !== 'follow' || place.openFlags === 0)
          throw fileErrorOf(error, place.shown);
        if (attempt === mostAttempts) throw refused(`"${place.shown}" is replaced by a link each time it is opened`);
      } finally {
        place.close();
      }
    }
  }

  /** The real path below the roots. Its last component may not exist. */
  async realPath(path: NativePath): Promise<NativePath> {
    this.#judge({ links: 'follow', for: 'read' });
    const shown = shownPath(path);
    const way = this.#locate(namesOf(path));
    if (way === undefined) {
      throw new FileError('notFound', `"${shown}" is outside the folders this server serves`, { errno: 'ENOENT' });
    }
    try {
      const arrival = await this.#descend(way, { links: 'follow', for: 'read' }, shown);
      arrival.close();
      return absolutePath(arrival.names);
    } catch (error) {
      throw fileErrorOf(error, shown);
    }
  }

  #judge(options: PlaceOptions): void {
    if (this.#access === 'none') throw refused('this server does not serve files');
    if (this.#access === 'read' && options.for === 'write') throw refused('this server serves files for reading only');
  }

  #isPlain({ links, hold }: PlaceOptions): boolean {
    if (this.#roots.length > 0) return false;
    return (links !== 'refuse' && hold !== 'always') || !canHoldFolders();
  }

  async #shortcut({ root, names }: Way, { links }: PlaceOptions): Promise<Pick<Arrival, 'fd' | 'name' | 'close'> | undefined> {
    const name = names.at(-1);
    if (name === undefined) return { fd: root.fd, name: '.', close: () => {} };
    const fd = names.length === 1 ? root.fd : await this.#openParent(root, names.slice(0, -1), links);
    if (fd === undefined) return undefined;
    const close = (): void => (fd === root.fd ? undefined : closeSync(fd));
    try {
      if (links !== 'follow' || (await readLink(joinPath(folderPath(fd), name))) === undefined) return { fd, name, close };
    } catch (error) {
      close();
      throw error;
    }
    close();
    return undefined;
  }

  async #openParent(root: HeldRoot, names: readonly NativePath[], links: PlaceOptions['links']): Promise<number | undefined> {
    return this.#openBeneath?.(root.fd, relativePath(names), links === 'refuse' ? 'refuse' : 'follow');
  }

  async #descend(way: Way, { links }: PlaceOptions, shown: string): Promise<Arrival> {
    return descend(way, { links, shown, locate: (parts) => this.#locate(parts) });
  }

  #locate(parts: readonly NativePath[]): Way | undefined {
    return locate(this.#roots.length > 0 ? this.#roots : [(this.#wholeTree ??= holdRoot('/'))], parts);
  }
}
