// What all lines of one run share: folders that are removed after the run, the file that processes print, and its content.

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Content, floodBlock } from './content.mjs';
import { cleanEnvironment } from './environment.mjs';

/** Blocks in the file: about a megabyte, which fits in the processor's cache. */
const blocksPerFile = 16;

/** A file system in memory on every Linux: reading and writing there does not wait for a disk. */
const sharedMemory = '/dev/shm';

export class Stage {
  #folder = mkdtempSync(path.join(tmpdir(), 'sluice-bench-'));
  /** @type {string | undefined} */
  #inMemory;
  content;
  env;
  file;
  fileBytes;

  constructor() {
    const block = floodBlock();
    this.content = new Content(block);
    this.file = path.join(this.#folder, 'block');
    this.fileBytes = block.length * blocksPerFile;
    writeFileSync(this.file, Buffer.alloc(this.fileBytes, block));
    const home = path.join(this.#folder, 'home');
    mkdirSync(home);
    this.env = cleanEnvironment(home);
  }

  /**
   * Arguments that make `cat` print about this many mebibytes, and the exact number of bytes.
   * @param {number} mebibytes
   */
  flood(mebibytes) {
    return { files: Array.from({ length: mebibytes }, () => this.file), total: mebibytes * this.fileBytes };
  }

  /** A folder in memory, for files that servers read and write. */
  get inMemory() {
    return (this.#inMemory ??= mkdtempSync(path.join(existsSync(sharedMemory) ? sharedMemory : tmpdir(), 'sluice-bench-')));
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
    if (this.#inMemory !== undefined) rmSync(this.#inMemory, { recursive: true, force: true });
  }
}
