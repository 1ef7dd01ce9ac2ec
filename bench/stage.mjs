// What all lines of one run share: a folder that is removed after the run, the file that processes print, and its content.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Content, floodBlock } from './content.mjs';
import { cleanEnvironment } from './environment.mjs';

/** Blocks in the file: about a megabyte, which fits in the processor's cache. */
const blocksPerFile = 16;

export class Stage {
  #folder = mkdtempSync(path.join(tmpdir(), 'sluice-bench-'));
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

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
