// The files that one connection has open through `fs/open`, by the ids that its client chose.

import type { OpenFile } from '../../files/index.js';
import { execError } from '../../protocol/index.js';
import type { Machine } from './machine.js';

/** Longest id, in bytes: Codex's limit. */
const longestId = 32;

type Slot = { readonly kind: 'opening' } | { readonly kind: 'open'; readonly file: OpenFile };

export class FileHandles {
  readonly #machine: Machine;
  /** Files that are being opened count, so that many calls at once cannot exceed the limit. */
  readonly #slots = new Map<string, Slot>();
  #isEnded = false;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Refuses the id before `open` is called, so that a call that fails leaves the file as it is. */
  async open(id: string, open: () => Promise<OpenFile>): Promise<void> {
    this.#judge(id);
    const opening: Slot = { kind: 'opening' };
    this.#slots.set(id, opening);
    this.#machine.openHandles += 1;
    try {
      const file = await open();
      const isWanted = this.#slots.get(id) === opening; // not closed meanwhile
      if (isWanted) this.#slots.set(id, { kind: 'open', file });
      else file.close();
      if (this.#isEnded) this.close(id);
    } catch (error) {
      if (this.#slots.get(id) === opening) this.close(id);
      throw error;
    }
  }

  get(id: string): OpenFile {
    requireShort(id);
    const slot = this.#slots.get(id);
    if (slot?.kind === 'open') return slot.file;
    throw execError('fileNotFound', { problem: `unknown file handle \`${id}\`` });
  }

  /** Does nothing for an unknown id. */
  close(id: string): void {
    requireShort(id);
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    this.#machine.openHandles -= 1;
    if (slot.kind === 'open') slot.file.close();
  }

  /** Also closes what is still being opened, as soon as it is open. */
  end(): void {
    this.#isEnded = true;
    for (const id of this.#slots.keys()) this.close(id);
  }

  #judge(id: string): void {
    requireShort(id);
    if (this.#slots.has(id)) throw execError('fileRefused', { problem: `file handle \`${id}\` already exists` });
    const { maxFileHandles } = this.#machine.limits;
    if (this.#slots.size >= maxFileHandles) {
      throw execError('fileRefused', { problem: `at most ${maxFileHandles} file handles may be open per connection` });
    }
  }
}

function requireShort(id: string): void {
  if (Buffer.byteLength(id) > longestId) {
    throw execError('fileRefused', { problem: `file handle ID must not exceed ${longestId} bytes` });
  }
}
