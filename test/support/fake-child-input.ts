// A child's stdin that takes bytes only when the test says so, as a pipe does when the child reads.

import type { ChildInput } from '#src/process/child.js';

export class FakeChildInput implements ChildInput {
  /** What happened to it, in order: bytes taken as text, 'end', 'destroy'. */
  readonly history: string[] = [];
  #offered: { readonly bytes: Uint8Array; readonly taken: (error: Error | undefined) => void } | undefined;

  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void {
    if (this.#offered !== undefined) throw new Error('a second write before the first was taken');
    this.#offered = { bytes, taken };
  }

  end(): void {
    this.history.push('end');
  }

  destroy(): void {
    this.history.push('destroy');
  }

  /** Bytes offered now; 0 if none. */
  get offeredBytes(): number {
    return this.#offered?.bytes.length ?? 0;
  }

  /** Takes the bytes offered now; false if there are none. */
  take(): boolean {
    const offered = this.#offered;
    if (offered === undefined) return false;
    this.#offered = undefined;
    this.history.push(Buffer.from(offered.bytes).toString('latin1'));
    offered.taken(undefined);
    return true;
  }

  /** Takes until nothing more is offered. */
  takeAll(): void {
    while (this.take());
  }

  /** Simulates the child closing its end: the bytes offered now fail. */
  fail(): void {
    const offered = this.#offered;
    this.#offered = undefined;
    offered?.taken(new Error('EPIPE'));
  }
}
