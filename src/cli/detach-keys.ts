// Finds the detach keys in typed input. Input that matches only their beginning is held back until the match fails, then passed on.

import { UsageError } from './command.js';
import { parseKey } from './keys.js';

export const defaultDetachKeys = 'ctrl-p,ctrl-q';

export interface Typed {
  /** Input for the process. */
  readonly bytes: Uint8Array;
  /** The detach keys were typed; input after them is dropped. */
  readonly isDetached: boolean;
}

export class DetachKeys {
  readonly #keys: Uint8Array;
  /** How many leading bytes of the keys the input so far ends with. */
  #matched = 0;

  /** Key names separated by commas; an empty string means no detach keys. */
  constructor(names: string) {
    const keys = names === '' ? [] : names.split(',').map((name) => parseKey(name.trim()));
    this.#keys = Buffer.from(keys.join(''));
    if (names !== '' && this.#keys.length === 0) throw new UsageError(`--detach-keys has no keys in "${names}"`);
  }

  push(input: Uint8Array): Typed {
    if (this.#keys.length === 0) return { bytes: input, isDetached: false };
    const bytes: number[] = [];
    for (const byte of input) {
      while (this.#matched > 0 && byte !== this.#keys[this.#matched]) bytes.push(...this.#giveBack());
      if (byte === this.#keys[this.#matched]) this.#matched += 1;
      else bytes.push(byte);
      if (this.#matched === this.#keys.length) return { bytes: Uint8Array.from(bytes), isDetached: true };
    }
    return { bytes: Uint8Array.from(bytes), isDetached: false };
  }

  /** Shortens the match to the next longest one that the input also ends with, and returns the bytes before it. */
  #giveBack(): Uint8Array {
    const seen = this.#keys.subarray(0, this.#matched);
    let shorter = this.#matched - 1;
    while (shorter > 0 && !startsWith(seen.subarray(this.#matched - shorter), this.#keys.subarray(0, shorter))) shorter -= 1;
    const given = seen.subarray(0, this.#matched - shorter);
    this.#matched = shorter;
    return given;
  }
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}
