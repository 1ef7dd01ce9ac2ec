// The watches of one connection: sends what each has noticed as fast as the client takes it. What a slow client has not been told yet is
// merged by the watch itself.

import { type FileWatch, type NativePath, namesBelow, namesOf, nativePath, pathFromUser, shownPath } from '../../files/index.js';
import { type Notification, type Params, execError } from '../../protocol/index.js';
import type { Notify } from './call-group.js';
import type { Machine, SharedFiles } from './machine.js';

export interface WatchingContext {
  readonly machine: Machine;
  readonly notify: Notify;
}

export class Watching {
  readonly #context: WatchingContext;
  readonly #shared: SharedFiles;
  /** Undefined while a watch is being set up. */
  readonly #watches = new Map<number, FileWatch | undefined>();
  #hasEnded = false;

  constructor(context: WatchingContext, shared: SharedFiles) {
    this.#context = context;
    this.#shared = shared;
  }

  /** Resolves when changes from now on will be noticed. */
  async watch({ watchId, path, recursive }: Params<'files/watch'>): Promise<Record<string, never>> {
    const { maxFileWatches } = this.#context.machine.limits;
    if (this.#watches.has(watchId)) throw refused(`watch ${watchId} already exists`);
    if (this.#watches.size >= maxFileWatches) {
      throw refused(`this connection already has ${maxFileWatches} watches; end one before starting another`);
    }
    this.#watches.set(watchId, undefined);
    try {
      const opened = await this.#open(pathFromUser(path), recursive === true ? 'yes' : 'no');
      if (!this.#watches.has(watchId) || this.#hasEnded) opened.close();
      else this.#begin(watchId, opened);
    } catch (error) {
      this.#watches.delete(watchId);
      throw error;
    }
    return {};
  }

  unwatch(watchId: number): void {
    this.#watches.get(watchId)?.close();
    this.#watches.delete(watchId);
  }

  end(): void {
    this.#hasEnded = true;
    for (const watchId of [...this.#watches.keys()]) this.unwatch(watchId);
  }

  async #open(path: NativePath, recursive: 'no' | 'yes'): Promise<FileWatch> {
    const { paths, watches } = this.#shared;
    const { roots } = paths;
    // Judges the path first, with roots or without: files may be turned off.
    await paths.using(path, { links: 'follow', for: 'read' }, async () => {});
    if (roots === undefined) return watches.watch({ path, recursive });
    return watches.watch({ path: await paths.realPath(path), recursive, isInside: insideOf(roots) });
  }

  #begin(watchId: number, opened: FileWatch): void {
    this.#watches.set(watchId, opened);
    this.#context.machine.openWatches += 1;
    void this.#pump(watchId, opened).finally(() => {
      opened.close();
      this.#context.machine.openWatches -= 1;
      if (this.#watches.get(watchId) === opened) this.#watches.delete(watchId);
    });
  }

  async #pump(watchId: number, opened: FileWatch): Promise<void> {
    let ended = 'what was watched has been removed';
    try {
      for (let batch = await opened.next(); batch !== undefined; batch = await opened.next()) {
        const changes = batch.changes.map(changeOf);
        await this.#notify({ watchId, changes, ...(batch.overflow ? { overflow: true } : {}) });
      }
    } catch (error) {
      ended = error instanceof Error ? error.message : String(error);
    }
    if (this.#watches.get(watchId) === opened) await this.#notify({ watchId, changes: [], ended });
  }

  async #notify(changed: Notification<'files/changed'>): Promise<void> {
    if (!this.#hasEnded) await this.#context.notify.filesChanged(changed);
  }
}

type Change = NonNullable<Awaited<ReturnType<FileWatch['next']>>>['changes'][number];

function changeOf(change: Change): Notification<'files/changed'>['changes'][number] {
  const path = shownPath(nativePath(change.path));
  return change.kind === 'moved'
    ? { kind: 'moved', path, from: shownPath(nativePath(change.from)) }
    : { kind: change.kind, path };
}

function insideOf(roots: readonly NativePath[]): (realPath: Buffer) => boolean {
  const named = roots.map(namesOf);
  return (realPath) => named.some((root) => namesBelow(root, namesOf(realPath)) !== undefined);
}

function refused(problem: string) {
  return execError('fileRefused', { problem });
}
