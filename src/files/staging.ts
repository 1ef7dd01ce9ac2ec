// How new files are kept apart until they are complete: without a name where the file system allows that, otherwise under a temporary
// one. Temporary names are announced before they exist, so that none survives this program.

import { unguessableName } from './make.js';
import { type NativePath, joinPath } from './native-path.js';
import type { HeldFolder } from './held-folder.js';

/** A list of files to remove if this program is killed: see replace-guard.ts. */
export interface TemporaryNames {
  /** Absolute. The file is made after this returns. */
  add(path: NativePath): void;
  remove(path: NativePath): void;
}

export interface StagingOptions {
  /** For tests: `named` everywhere. Otherwise only where there are no unnamed files. */
  readonly kind?: 'unnamed' | 'named' | undefined;
  readonly names?: TemporaryNames | undefined;
}

/** For one staged file at a time. */
export class Staging {
  readonly kind: 'unnamed' | 'named';
  readonly #names: TemporaryNames | undefined;
  #current: { readonly folder: HeldFolder; readonly name: string; readonly path: NativePath | undefined } | undefined;

  constructor({ kind = 'unnamed', names }: StagingOptions = {}) {
    this.kind = kind;
    this.#names = names;
  }

  /** A free name in the folder. It stays the same until another folder's is asked for, so that a tree announces one per folder. */
  nameIn(folder: HeldFolder): string {
    if (this.#current?.folder === folder) return this.#current.name;
    this.close();
    const name = `.${unguessableName()}.sluice`;
    const path = this.#names === undefined ? undefined : joinPath(folder.absolutePath(), name);
    if (path !== undefined) this.#names?.add(path);
    this.#current = { folder, name, path };
    return name;
  }

  /** Nothing must have the name any more. */
  close(): void {
    if (this.#current?.path !== undefined) this.#names?.remove(this.#current.path);
    this.#current = undefined;
  }
}
