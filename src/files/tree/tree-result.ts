// What packing and unpacking a tree report: how far they are, and in the end what they did.

import { createHash } from 'node:crypto';
import { nameOf } from '../folder.js';
import type { NativePath } from '../native-path.js';

export interface TreeProgress {
  readonly files: number;
  /** Of the contents of files. */
  readonly bytes: number;
  /** The entry that was last begun, relative to the tree. */
  readonly path: NativePath;
}

export interface TreeResult {
  readonly files: number;
  /** Without the tree's own. */
  readonly folders: number;
  readonly links: number;
  /** Of the contents of files. */
  readonly bytes: number;
  /** Of the whole archive, in hexadecimal digits: both ends have the same. */
  readonly sha256: string;
  readonly skippedCount: number;
  /** The first hundred. */
  readonly skipped: readonly SkippedEntry[];
}

export interface SkippedEntry {
  readonly path: NativePath;
  /** Such as `socket`. */
  readonly reason: string;
}

/** Skipped entries that a result names; a tree could have millions, for instance of sockets. */
const mostNamed = 100;

export class TreeTally {
  files = 0;
  folders = 0;
  links = 0;
  bytes = 0;
  path: string = '';
  readonly #hash = createHash('sha256');
  readonly #skipped: SkippedEntry[] = [];
  #skippedCount = 0;

  hash(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  skip(path: string, reason: string): void {
    this.#skippedCount += 1;
    if (this.#skipped.length < mostNamed) this.#skipped.push({ path: nameOf(path), reason });
  }

  progress(): TreeProgress {
    return { files: this.files, bytes: this.bytes, path: nameOf(this.path) };
  }

  /** Once, at the end. */
  result(): TreeResult {
    const { files, folders, links, bytes } = this;
    const sha256 = this.#hash.digest('hex');
    return { files, folders, links, bytes, sha256, skippedCount: this.#skippedCount, skipped: this.#skipped };
  }
}
