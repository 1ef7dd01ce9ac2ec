// What was written to one program and what reached it: every write arrives at most once and whole, each writer's in order, no refused write
// arrives, and all accepted ones do as long as the program keeps reading.

import type { World } from './world.js';

/** Writer, index and length precede the bytes of a write. */
const headerBytes = 12;
const filler = Buffer.alloc(64 * 1024, 'stdin');

interface Write {
  readonly writer: number;
  readonly index: number;
  /** Made before the same writer closed stdin. */
  readonly isBeforeEnd: boolean;
  answer: 'accepted' | 'stdinClosed' | 'refused' | 'unknown' | undefined;
}

export class InputLedger {
  readonly #world: World;
  readonly #name: string;
  readonly #writes = new Map<string, Write>();
  readonly #counts = new Map<number, number>();
  /** The writers that have closed stdin. */
  readonly #enders = new Set<number>();
  readonly #arrived = new Map<string, Write>();
  readonly #lastArrived = new Map<number, number>();
  #carry: Buffer = Buffer.alloc(0);
  #skip = 0;
  #hasEnded = false;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
  }

  /** The bytes of a writer's next write, and a function to call with its answer. */
  next(writer: number, size: number): { readonly bytes: Uint8Array; readonly answered: (answer: Write['answer']) => void } {
    const index = (this.#counts.get(writer) ?? 0) + 1;
    this.#counts.set(writer, index);
    const write: Write = { writer, index, isBeforeEnd: !this.#enders.has(writer), answer: undefined };
    this.#writes.set(keyOf(writer, index), write);
    const bytes = Buffer.alloc(headerBytes + size);
    bytes.writeUInt32BE(writer, 0);
    bytes.writeUInt32BE(index, 4);
    bytes.writeUInt32BE(size, 8);
    filler.copy(bytes, headerBytes, 0, size);
    return { bytes, answered: (answer) => (write.answer = answer) };
  }

  /** A writer closes stdin: its earlier writes must arrive before the end, its later ones must not arrive. */
  ending(writer: number): void {
    this.#enders.add(writer);
  }

  /** Called with the bytes that the kernel has taken. */
  taken(bytes: Uint8Array): void {
    const skipped = Math.min(this.#skip, bytes.length);
    this.#skip -= skipped;
    this.#carry = Buffer.concat([this.#carry, bytes.subarray(skipped)]);
    while (this.#carry.length >= headerBytes) {
      const [writer, index, size] = [0, 4, 8].map((at) => this.#carry.readUInt32BE(at));
      this.#begins(writer ?? 0, index ?? 0);
      const end = headerBytes + (size ?? 0);
      this.#skip = Math.max(0, end - this.#carry.length);
      this.#carry = this.#carry.subarray(Math.min(end, this.#carry.length));
    }
  }

  ended(): void {
    this.#hasEnded = true;
    if (this.#carry.length > 0 || this.#skip > 0) this.#world.fail(`stdin of ${this.#name} ended in the middle of a write`);
    // With a single writer it is certain what must have arrived; with two, the other's writes may have been too late.
    if (this.#counts.size > 1) return;
    for (const write of this.#writes.values()) {
      if (write.isBeforeEnd && write.answer === 'accepted') this.#mustHaveArrived(write);
    }
  }

  /** The program has read for long enough: every accepted write must have arrived. */
  checkComplete(): void {
    for (const write of this.#writes.values()) if (write.answer === 'accepted') this.#mustHaveArrived(write);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  #mustHaveArrived({ writer, index }: Write): void {
    if (this.#arrived.has(keyOf(writer, index))) return;
    this.#world.fail(`write ${index} of writer ${writer} to ${this.#name} was accepted but never arrived`);
  }

  #begins(writer: number, index: number): void {
    const write = this.#writes.get(keyOf(writer, index));
    const report = (problem: string) => this.#world.fail(`write ${index} of writer ${writer} to ${this.#name} ${problem}`);
    this.#world.note(() => `${this.#name}: write ${index} of writer ${writer} arrives`);
    if (write === undefined) return report('was never made: stdin is garbled');
    if (this.#arrived.has(keyOf(writer, index))) report('arrives twice');
    if (write.answer === 'refused') report('arrives although it was refused');
    if (!write.isBeforeEnd && !this.#hasOtherWriters(writer)) report('arrives although stdin was closed before it');
    if (index < (this.#lastArrived.get(writer) ?? 0)) report(`arrives after write ${this.#lastArrived.get(writer)}`);
    this.#arrived.set(keyOf(writer, index), write);
    this.#lastArrived.set(writer, index);
  }

  #hasOtherWriters(writer: number): boolean {
    return [...this.#counts.keys()].some((other) => other !== writer);
  }
}

function keyOf(writer: number, index: number): string {
  return `${writer} ${index}`;
}
