// A regular file held open, read or written block by block at any position.

import { type Stats, closeSync } from 'node:fs';
import { fileErrorOf } from './file-error.js';
import { fill, writeAll } from './fs-calls.js';
import type { NativePath } from './native-path.js';
import type { Paths } from './paths.js';
import { type Opened, openToRead, openToReplace } from './regular-file.js';

export interface OpenFileOptions {
  /** `replace` creates the file or truncates it at once. */
  readonly mode: 'read' | 'replace';
  readonly links: 'follow' | 'refuse';
}

export class OpenFile {
  readonly shown: string;
  /** When the file was opened. */
  readonly stats: Stats;
  readonly #fd: number;
  #calls = 0;
  #isClosing = false;

  private constructor(opened: Opened, shown: string) {
    this.#fd = opened.fd;
    this.stats = opened.stats;
    this.shown = shown;
  }

  static async open(paths: Paths, path: NativePath, { mode, links }: OpenFileOptions): Promise<OpenFile> {
    const access = mode === 'read' ? 'read' : 'write';
    return paths.using(path, { links, for: access }, async (place) => {
      const opened = mode === 'read' ? await openToRead(place) : await openToReplace(place, { devices: 'refuse' });
      return new OpenFile(opened, place.shown);
    });
  }

  /** As many bytes as there are, up to `length`: fewer only at the end of the file. */
  async readAt(offset: number, length: number): Promise<Uint8Array> {
    return this.#call(async () => {
      const bytes = Buffer.allocUnsafeSlow(length);
      return bytes.subarray(0, await fill(this.#fd, bytes, offset));
    });
  }

  /** Resolves when every byte is written. */
  async writeAt(offset: number, bytes: Uint8Array): Promise<void> {
    await this.#call(async () => writeAll(this.#fd, bytes, offset));
  }

  /** Takes effect after the calls that are under way; harmless when repeated. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#closeIfIdle();
  }

  async #call<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosing) throw fileErrorOf(new Error(`"${this.shown}" has been closed`));
    this.#calls += 1;
    try {
      return await act();
    } catch (error) {
      throw fileErrorOf(error, this.shown);
    } finally {
      this.#calls -= 1;
      this.#closeIfIdle();
    }
  }

  #closeIfIdle(): void {
    if (this.#isClosing && this.#calls === 0) closeSync(this.#fd);
  }
}
