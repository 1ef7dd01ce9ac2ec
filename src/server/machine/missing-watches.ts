// The watches of one connection for files that are missing, by the ids that its client chose.

import type { FileWatches, NativePath } from '../../files/index.js';
import type { Machine } from './machine.js';

export interface MissingFiles {
  readonly missing: readonly NativePath[];
  readonly present: NativePath | undefined;
  /** Whether there is something at a path that the caller may see. */
  readonly exists: (path: NativePath) => Promise<boolean>;
}

export class MissingWatches {
  readonly #machine: Machine;
  readonly #watches: FileWatches;
  /** Undefined while a watch is being started. */
  readonly #open = new Map<number, Disposable | undefined>();
  #isEnded = false;

  constructor(machine: Machine, watches: FileWatches) {
    this.#machine = machine;
    this.#watches = watches;
  }

  /** Whether it watches. Calls `changed` once at most. */
  async watch(id: number, { missing, present, exists }: MissingFiles, changed: () => void): Promise<boolean> {
    const isNothing = missing.length === 0 && present === undefined;
    if (isNothing || this.#open.has(id) || this.#open.size >= this.#machine.limits.maxFileWatches) return false;
    this.#add(id, undefined);
    const options = {
      missing: missing.map((path) => Buffer.from(path)),
      present: present === undefined ? undefined : Buffer.from(present),
      exists,
      changed: () => {
        this.#remove(id);
        changed();
      },
    };
    const watch = await this.#watches.watchMissing(options).catch((error: unknown) => {
      this.#remove(id);
      throw error;
    });
    if (watch === undefined || this.#isEnded) {
      watch?.[Symbol.dispose]();
      this.#remove(id);
      return false;
    }
    this.#open.set(id, watch);
    return true;
  }

  end(): void {
    this.#isEnded = true;
    for (const id of this.#open.keys()) this.#remove(id);
  }

  #add(id: number, watch: Disposable | undefined): void {
    this.#open.set(id, watch);
    this.#machine.openWatches += 1;
  }

  #remove(id: number): void {
    if (!this.#open.has(id)) return;
    this.#open.get(id)?.[Symbol.dispose]();
    this.#open.delete(id);
    this.#machine.openWatches -= 1;
  }
}
