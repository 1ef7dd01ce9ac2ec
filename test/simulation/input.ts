// The kernel's side of a program's stdin: a pipe of limited capacity that the program empties at its own pace, or never.

import type { ChildInput } from '#src/process/child.js';
import type { Dice } from './dice.js';
import type { World } from './world.js';

/** Capacity of the pipe: small, so that writers often wait. */
const roomBytes = 8 * 1024;

interface Options {
  readonly world: World;
  readonly dice: Dice;
  /** Called with the bytes in the order in which the kernel takes them. */
  readonly onTaken: (bytes: Uint8Array) => void;
  /** Called when there is something to read, or at the end. */
  readonly onReadable: () => void;
  readonly onEnd: () => void;
}

export class SimulatedInput implements ChildInput {
  readonly #options: Options;
  #pending: { rest: Uint8Array; readonly taken: (error: Error | undefined) => void } | undefined;
  #unread = 0;
  #hasEnded = false;
  #isShut = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Bytes that the program could read now. */
  get unread(): number {
    return this.#unread;
  }

  get isAtEnd(): boolean {
    return this.#hasEnded && this.#unread === 0;
  }

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    const { world } = this.#options;
    world.effects += 1;
    if (this.#pending !== undefined) world.fail('stdin was written to before the last write was taken');
    if (this.#hasEnded) world.fail('stdin was written to after its end');
    this.#pending = { rest: bytes, taken };
    if (this.#isShut) this.#fail();
    else this.#takeWhatFits();
  }

  end(): void {
    this.#options.world.effects += 1;
    if (this.#pending !== undefined) this.#options.world.fail('stdin was closed before the last write was taken');
    this.#hasEnded = true;
    this.#options.onEnd();
    this.#options.onReadable();
  }

  destroy(): void {
    this.shut();
  }

  /** The read end is closed: pending writes fail. */
  shut(): void {
    this.#isShut = true;
    if (this.#pending !== undefined) this.#fail();
  }

  /** The program reads. */
  read(bytes: number): void {
    this.#unread -= bytes;
    this.#takeWhatFits();
  }

  #fail(): void {
    this.#options.world.soon(this.#options.dice, () => {
      const pending = this.#pending;
      this.#pending = undefined;
      pending?.taken(new Error('EPIPE'));
    });
  }

  #takeWhatFits(): void {
    const pending = this.#pending;
    const room = roomBytes - this.#unread;
    if (pending === undefined || this.#isShut || room <= 0) return;
    const fitting = pending.rest.subarray(0, room);
    pending.rest = pending.rest.subarray(fitting.length);
    this.#unread += fitting.length;
    this.#options.onTaken(fitting);
    this.#options.onReadable();
    if (pending.rest.length > 0) return;
    this.#options.world.soon(this.#options.dice, () => {
      if (this.#pending !== pending) return;
      this.#pending = undefined;
      pending.taken(undefined);
    });
  }
}
