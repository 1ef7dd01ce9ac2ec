// What transfers need from the files of the machine that the client runs on. `local` provides it on Node; in a browser there is none.

import type { Result, TreeResult } from '../protocol/index.js';

/** An entry of a tree with what two copies are compared by. */
export type DigestEntry = Result<'files/digest'>['entries'][number];

/** SHA-256 of bytes that arrive in pieces. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** In hexadecimal. Once, at the end. */
  digest(): string;
}

export interface TransferProgress {
  /** Files begun so far. */
  readonly files: number;
  /** Content of files transferred so far. */
  readonly bytes: number;
  /** What is being transferred, relative to the tree; the name of a single file. */
  readonly path: string;
}

export interface LocalTreeOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PackOptions extends LocalTreeOptions {
  /** Names or relative paths to leave out; * and ? match. */
  readonly exclude?: readonly string[] | undefined;
  /** Files and links to leave out, by relative path. */
  readonly isEqual?: ((relativePath: string) => boolean) | undefined;
}

export interface LocalFile {
  readonly kind: 'file' | 'directory' | 'other';
  readonly size: number;
  readonly permissions: number;
}

/** Paths are native ones of this machine. Failures are errors of the system, with the path in the text. */
export interface LocalFiles {
  sha256(): Sha256;
  /** Follows links. Undefined if there is nothing. */
  stat(path: string): Promise<LocalFile | undefined>;
  /** The last name of a path. */
  nameOf(path: string): string;
  /** `name` in a folder. */
  join(folder: string, name: string): string;
  read(path: string): AsyncIterable<Uint8Array>;
  /** The old file stays until all chunks have arrived. A new file gets the permissions. */
  replace(path: string, chunks: AsyncIterable<Uint8Array>, permissions: number): Promise<void>;
  /** Returns the result after the last chunk. */
  pack(path: string, options: PackOptions): AsyncGenerator<Uint8Array, TreeResult>;
  unpack(path: string, chunks: AsyncIterable<Uint8Array>, options: LocalTreeOptions): Promise<TreeResult>;
  /** Everything below a folder; nothing if it does not exist. */
  digest(path: string): AsyncIterable<DigestEntry>;
}
