// Which files a server's callers may reach, and the way there. Every operation of a confined server acts on a name in a folder that was
// opened below one of its roots, so no path escapes by "..", by links, by /proc/self/root or by a change made meanwhile. Mounts below a
// root belong to it. Hard links are not covered: a file linked into a root is a file of that root.

import { closeSync } from 'node:fs';
import { type OpenBeneath, loadOpenBeneath } from './beneath.js';
import { CachedFiles } from './cached-files.js';
import { type DescentOptions, descend } from './descent.js';
import { FileError, fileErrorOf, refused } from './file-error.js';
import { type NativePath, absolutePath, isNormalized, namesOf, relativePath } from './native-path.js';
import { shownPath } from './path-uri.js';
import { type OpenedName, type Place, type PlaceOptions, canHoldFolders, heldPlace, isLinkAt, plainPlace } from './place.js';
import { Roots, type Way } from './roots.js';

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
  readonly access: Access;
  /** For reads of paths that need no search of their own. */
  readonly cached = new CachedFiles();
  readonly #roots: Roots | undefined;
  readonly #openat2: 'use' | 'avoid';
  /** For links that are refused by a server without roots; held from first use. */
  #wholeTree: Roots | undefined;
  #openBeneath: OpenBeneath | undefined;

  private constructor(roots: Roots | undefined, { access = 'write', openat2 = 'use' }: PathsOptions) {
    this.#roots = roots;
    this.access = access;
    this.#openat2 = openat2;
  }

  /** Throws a FileError when a root is missing or no folder, or when this machine cannot confine callers. */
  static open(options: PathsOptions = {}): Paths {
    const { roots = [] } = options;
    if (roots.length > 0 && !canHoldFolders) {
      throw refused('callers cannot be confined to folders on this machine: it has no /proc/self/fd');
    }
    return new Paths(roots.length === 0 ? undefined : Roots.open(roots), options);
  }

  /** The real paths of the roots; undefined when every path is served. */
  get roots(): readonly NativePath[] | undefined {
    return this.#roots?.realPaths;
  }

  /** Calls that are under way still work. */
  close(): void {
    this.#roots?.close();
    this.#wholeTree?.close();
  }

  /** Opens the folder that contains the path. The caller closes the place. */
  async at(path: NativePath, options: PlaceOptions): Promise<Place> {
    this.#judge(path, options);
    if (this.#isPlain(options)) return plainPlace(path, options);
    const shown = shownPath(path);
    const roots = this.#heldRoots();
    const leave = roots.use();
    try {
      const opened = await this.#find(roots, path, options);
      const close = (): void => {
        opened.close();
        leave();
      };
      return heldPlace({ fd: opened.fd, name: opened.name, close }, shown);
    } catch (error) {
      leave();
      throw fileErrorOf(error, shown);
    }
  }

  /** Calls `act` with the place of a path, and closes the place. `act` may be called several times; see below. */
  async using<T>(path: NativePath, options: PlaceOptions, act: (place: Place) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      // Most paths do not end in a link. So the first attempt does not look; `act` fails if there is one, also if it is put there between
      // the look and the act.
      const isLinkUnseen = options.links === 'follow' && attempt === 1;
      const place = await this.at(path, isLinkUnseen && !this.#isPlain(options) ? { ...options, links: 'parents' } : options);
      try {
        return await act(place);
      } catch (error) {
        if (options.links !== 'follow' || !isLinkAt(place, error)) throw fileErrorOf(error, place.shown);
        if (attempt === mostAttempts) throw refused(`"${place.shown}" is replaced by a link each time it is opened`);
      } finally {
        place.close();
      }
    }
  }

  /** The real path. Its last component may not exist. */
  async realPath(path: NativePath): Promise<NativePath> {
    const options = { links: 'follow', for: 'read' } as const;
    this.#judge(path, options);
    const roots = this.#heldRoots();
    const leave = roots.use();
    try {
      const arrival = await descend(wayTo(roots, path), descentOptions(roots, path, options));
      arrival.close();
      return absolutePath(arrival.names);
    } catch (error) {
      throw fileErrorOf(error, shownPath(path));
    } finally {
      leave();
    }
  }

  #judge(path: NativePath, options: PlaceOptions): void {
    if (this.access === 'none') throw refused('this server does not serve files');
    if (this.access === 'read' && options.for === 'write') throw refused('this server serves files for reading only');
    if (options.links === 'refuse' && !isNormalized(path)) {
      throw refused(`a path whose links are refused must be absolute and normalized, got "${shownPath(path)}"`);
    }
  }

  /** Whether the path alone is the place. */
  #isPlain({ links, hold }: PlaceOptions): boolean {
    return this.#roots === undefined && ((links !== 'refuse' && hold !== 'always') || !canHoldFolders);
  }

  #heldRoots(): Roots {
    return this.#roots ?? (this.#wholeTree ??= Roots.open(['/']));
  }

  async #find(roots: Roots, path: NativePath, options: PlaceOptions): Promise<OpenedName> {
    const way = wayTo(roots, path);
    const direct = options.links === 'follow' ? undefined : await this.#openDirectly(way, options.links);
    return direct ?? descend(way, descentOptions(roots, path, options));
  }

  /** By a single system call, where there is one. */
  async #openDirectly({ root, names }: Way, links: 'parents' | 'refuse'): Promise<OpenedName | undefined> {
    const name = names.at(-1) ?? '.';
    if (names.length <= 1) return { fd: root.fd, name, close: () => {} };
    if (this.#openat2 === 'avoid') return undefined;
    this.#openBeneath ??= loadOpenBeneath();
    const fd = await this.#openBeneath(root.fd, relativePath(names.slice(0, -1)), links);
    return fd === undefined ? undefined : { fd, name, close: () => closeSync(fd) };
  }
}

function wayTo(roots: Roots, path: NativePath): Way {
  const way = roots.locate(namesOf(path));
  if (way !== undefined) return way;
  // Not refused: callers look for files such as .git in every folder up to the root of the file system.
  throw new FileError('notFound', `"${shownPath(path)}" is outside the folders this server serves`, { errno: 'ENOENT' });
}

function descentOptions(roots: Roots, path: NativePath, { links }: PlaceOptions): DescentOptions {
  return { links, shown: shownPath(path), locate: (parts) => roots.locate(parts) };
}
