// A tree that knows the disk only from the changes of a watch. It fails on a change that does not fit what was reported before.

import assert from 'node:assert/strict';
import { lstatSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { FileWatch, WatchBatch } from '#src/files/watch/file-watch.js';
import type { Change } from '#src/files/watch/tree-update.js';

interface Look {
  /** Undefined if nothing was there. */
  readonly inode: number | undefined;
  /** Of a file. */
  readonly content: string | undefined;
}

export class WatchModel {
  readonly #root: string;
  /** Path relative to the root → what was there when it was last reported. */
  readonly #entries: Map<string, Look>;
  overflows = 0;

  /** Starts with what is on the disk. */
  constructor(root: string) {
    this.#root = root;
    this.#entries = this.#disk();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Until the watch ends. */
  async follow(watch: FileWatch): Promise<void> {
    for (let batch = await watch.next(); batch !== undefined; batch = await watch.next()) this.apply(batch);
  }

  apply(batch: WatchBatch): void {
    if (batch.overflow) this.overflows += 1;
    for (const change of batch.changes) this.#apply(change);
  }

  assertEqualsDisk(): void {
    assert.equal(this.#entries.size, readdirSync(this.#root, { recursive: true }).length, 'entries');
    for (const [name, now] of this.#disk()) {
      const known = this.#entries.get(name);
      assert.ok(known !== undefined, `${name} is not known`);
      if (known.inode === now.inode) assert.equal(known.content, now.content, name);
    }
  }

  #apply(change: Change): void {
    const name = path.relative(this.#root, change.path.toString('latin1'));
    const parent = path.dirname(name);
    assert.ok(parent === '.' || this.#entries.has(parent), `${change.kind} ${name}: its folder is not known`);
    switch (change.kind) {
      case 'created':
        assert.ok(!this.#entries.has(name), `${name} was created, but is known`);
        this.#entries.set(name, this.#look(name));
        break;
      case 'changed':
        assert.ok(this.#entries.has(name), `${name} was changed, but is not known`);
        this.#entries.set(name, this.#look(name));
        break;
      case 'removed':
        assert.deepEqual(this.#below(name), [], `${name} was removed before its content`);
        assert.ok(this.#entries.delete(name), `${name} was removed, but is not known`);
        break;
      case 'moved':
        this.#move(path.relative(this.#root, change.from.toString('latin1')), name);
        break;
    }
  }

  #move(from: string, to: string): void {
    assert.ok(this.#entries.has(from), `${from} was moved, but is not known`);
    assert.ok(!to.startsWith(`${from}/`), `${from} was moved into itself`);
    const moved = [from, ...this.#below(from)];
    for (const name of [...moved, to, ...this.#below(to)]) this.#entries.delete(name);
    for (const name of moved.map((each) => `${to}${each.slice(from.length)}`)) this.#entries.set(name, this.#look(name));
  }

  #below(name: string): string[] {
    return [...this.#entries.keys()].filter((each) => each.startsWith(`${name}/`));
  }

  #disk(): Map<string, Look> {
    const names = readdirSync(this.#root, { recursive: true, encoding: 'latin1' });
    return new Map(names.map((name) => [name, this.#look(name)]));
  }

  /**
   * Something else may be there by now, or nothing. That is not always reported: a folder may have come back before the watch looked. But
   * the same file with another content must be.
   */
  #look(name: string): Look {
    const file = Buffer.from(path.join(this.#root, name), 'latin1');
    try {
      const stats = lstatSync(file);
      return { inode: stats.ino, content: stats.isDirectory() ? undefined : readFileSync(file, 'latin1') };
    } catch {
      return { inode: undefined, content: undefined };
    }
  }
}
