// A child's stdin that takes bytes when the test says so, and reads them only then, as the kernel does.

import type { ChildInput } from '#src/process/child.js';

export class FakeChildInput implements ChildInput {
  /** What was done to it, in order: bytes taken as text, 'end', 'destroy'. */
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

  /** Bytes offered now; 0 when nothing is. */
  get offeredBytes(): number {
    return this.#offered?.bytes.length ?? 0;
  }

  /** Takes what is offered now; false when nothing is. */
  take(): boolean {
    const offered = this.#offered;
    if (offered === undefined) return false;
    this.#offered = undefined;
    this.history.push(Buffer.from(offered.bytes).toString('latin1'));
    offered.taken(undefined);
    return true;
  }

  /** Takes until nothing is offered any more. */
  takeAll(): void {
    while (this.take());
  }

  /** Ends from the child's side: what is offered now fails. */
  fail(): void {
    const offered = this.#offered;
    this.#offered = undefined;
    offered?.taken(new Error('EPIPE'));
  }
}
