// The kernel's side of a program's output: pipes of limited capacity, read by the backend unless it is held back. Behaves like
// process/output/pipe-output.ts and process/output/pty-output.ts, including at the end.

import type { ChildEvents, ChildOutput } from '#src/process/child.js';
import type { Stream } from '#src/protocol/index.js';
import type { Dice } from './dice.js';
import { bytesAt, saltOf } from './script.js';
import type { World } from './world.js';

/** Capacity of a pipe. */
export const pipeBytes = 64 * 1024;

/** The most that the backend reads at once: more than a chunk may hold, so that some reads are split. */
export const readBytes = 80 * 1024;

interface Pipe {
  readonly stream: Stream;
  readonly salt: number;
  written: number;
  read: number;
  /** How far to read before all output of the dead leader has been seen. */
  leaderEnd: number;
  isPlanned: boolean;
}

interface Options {
  readonly world: World;
  readonly dice: Dice;
  readonly serial: number;
  readonly streams: readonly Stream[];
  readonly events: ChildEvents;
  /** Whether a living process could still write. */
  readonly isHeldOpen: () => boolean;
  /** Called when there is room again. */
  readonly onRoom: () => void;
}

/** One buffer for all reads, overwritten after each, to expose code that keeps a view of it. */
const readBuffer = Buffer.alloc(readBytes);

export class SimulatedOutput implements ChildOutput {
  readonly #options: Options;
  readonly #open: Set<Pipe>;
  readonly #isTerminal: boolean;
  #isHeld = false;
  #drained: ((outputComplete: boolean) => void) | undefined;
  #isDrained = false;

  constructor(options: Options) {
    this.#options = options;
    this.#isTerminal = options.streams.includes('pty');
    this.#open = new Set(
      options.streams.map((stream) => {
        return { stream, salt: saltOf(options.serial, stream), written: 0, read: 0, leaderEnd: 0, isPlanned: false };
      }),
    );
  }

  /** Writes what fits and returns how much that was. Without a reader everything is discarded immediately. */
  write(stream: Stream, bytes: number): number {
    const pipe = [...this.#open].find((each) => each.stream === stream);
    if (pipe === undefined) return bytes;
    const fitting = Math.min(bytes, pipeBytes - (pipe.written - pipe.read));
    pipe.written += fitting;
    this.#plan(pipe);
    return fitting;
  }

  /** A writer has died: this may be the end of the stream. */
  writerGone(): void {
    for (const pipe of this.#open) this.#plan(pipe);
  }

  hold(): void {
    this.#options.world.effects += 1;
    this.#isHeld = true;
  }

  resume(): void {
    this.#options.world.effects += 1;
    this.#isHeld = false;
    for (const pipe of this.#open) this.#plan(pipe);
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  drainLeader(drained: (outputComplete: boolean) => void): void {
    if (this.#isTerminal && this.#open.size === 0) return drained(true);
    this.#drained = drained;
    for (const pipe of this.#open) pipe.leaderEnd = pipe.written;
    for (const pipe of this.#open) this.#plan(pipe);
    this.#settleDrain();
  }

  close(): void {
    if (this.#open.size === 0) return;
    if (this.#isTerminal) return this.#endTerminal();
    // Sockets report their end a moment later.
    this.#options.world.soon(this.#options.dice, () => {
      for (const pipe of this.#open) this.#pipeEnded(pipe);
    });
    for (const pipe of this.#open) pipe.isPlanned = true;
  }

  #plan(pipe: Pipe): void {
    const hasNews = pipe.written > pipe.read || !this.#options.isHeldOpen();
    const isListening = !this.#isHeld || this.#drained !== undefined;
    if (pipe.isPlanned || !hasNews || !isListening || !this.#open.has(pipe)) return;
    pipe.isPlanned = true;
    this.#options.world.soon(this.#options.dice, () => {
      if (!this.#open.has(pipe)) return;
      pipe.isPlanned = false;
      if (this.#isHeld && this.#drained === undefined) return;
      this.#read(pipe);
      this.#plan(pipe);
    });
  }

  #read(pipe: Pipe): void {
    const available = pipe.written - pipe.read;
    if (available === 0) {
      if (!this.#options.isHeldOpen()) this.#pipeEnded(pipe);
      return;
    }
    const length = Math.min(available, this.#options.dice.next() < 0.5 ? readBytes : 1 + this.#options.dice.below(available));
    readBuffer.set(bytesAt(pipe.salt, pipe.read, length));
    pipe.read += length;
    this.#options.events.output(pipe.stream, readBuffer.subarray(0, length));
    readBuffer.fill(0xee, 0, length);
    this.#options.onRoom();
    this.#settleDrain();
  }

  #settleDrain(): void {
    const drained = this.#drained;
    if (drained === undefined || [...this.#open].some((pipe) => pipe.read < pipe.leaderEnd)) return;
    this.#drained = undefined;
    drained(true);
    this.#isDrained = true;
    if (this.#open.size === 0 && !this.#isTerminal) this.#options.events.ended();
    else for (const pipe of this.#open) this.#plan(pipe);
  }

  #pipeEnded(pipe: Pipe): void {
    if (this.#isTerminal) return this.#endTerminal();
    this.#open.delete(pipe);
    this.#options.events.streamEnded(pipe.stream);
    if (this.#drained !== undefined) return this.#settleDrain();
    if (this.#isDrained && this.#open.size === 0) this.#options.events.ended();
  }

  #endTerminal(): void {
    this.#open.clear();
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.(false);
    this.#options.events.ended();
  }
}
