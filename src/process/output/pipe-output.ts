// Reads a child's pipes. After the leader's death it detects, without a timeout, when everything that the leader wrote has been read.

import type { Readable } from 'node:stream';
import type { Stream } from '../../protocol/index.js';
import type { ChildEvents, ChildOutput } from '../child.js';
import { type ReadTurns, bulkBytes } from './read-turns.js';

/** Largest pipe of an unprivileged user on Linux; bytes read beyond this cannot have been written by the dead leader. */
const pipeCapacityBytes = 1024 * 1024;

interface Source {
  readonly stream: Stream;
  readonly readable: Readable;
  receivedBytes: number;
}

export class PipeOutput implements ChildOutput {
  readonly #events: Pick<ChildEvents, 'output' | 'streamEnded' | 'ended'>;
  readonly #turns: ReadTurns;
  readonly #open = new Set<Source>();
  #held = false;
  #draining: { readonly drained: (outputComplete: boolean) => void; readonly waiting: Map<Source, number> } | undefined;
  #drained = false;

  constructor(events: Pick<ChildEvents, 'output' | 'streamEnded' | 'ended'>, turns: ReadTurns) {
    this.#events = events;
    this.#turns = turns;
  }

  /** Takes ownership of a pipe. Call the returned function with every chunk read from it; it returns whether to read on immediately. */
  add(stream: Stream, readable: Readable): (bytes: Uint8Array) => boolean {
    const source: Source = { stream, readable, receivedBytes: 0 };
    this.#open.add(source);
    readable.on('error', () => readable.destroy()); // a broken pipe ends like a closed one
    readable.on('end', () => readable.destroy());
    readable.on('close', () => this.#sourceEnded(source));
    return (bytes) => {
      source.receivedBytes += bytes.length;
      this.#events.output(stream, bytes);
      // A dead leader left at most a pipe's worth, and #watchForQuiet requires that the pipe is polled in every turn.
      if (bytes.length < bulkBytes || this.#draining !== undefined) return true;
      this.#turns.wait(() => this.#readOn(source));
      return false;
    };
  }

  hold(): void {
    this.#held = true;
    if (this.#draining === undefined) for (const { readable } of this.#open) readable.pause();
  }

  resume(): void {
    this.#held = false;
    for (const { readable } of this.#open) readable.resume();
  }

  drainLeader(drained: (outputComplete: boolean) => void): void {
    const waiting = new Map([...this.#open].map((source) => [source, source.receivedBytes]));
    this.#draining = { drained, waiting };
    for (const { readable } of this.#open) readable.resume();
    for (const source of this.#open) this.#watchForQuiet(source);
    this.#settleDrain();
  }

  close(): void {
    for (const { readable } of this.#open) readable.destroy();
  }

  #readOn(source: Source): void {
    if (this.#open.has(source) && (!this.#held || this.#draining !== undefined)) source.readable.resume();
  }

  /**
   * Everything that the dead leader wrote is already in the pipe, so one whole turn of the event loop that polls the pipe and reads nothing
   * proves it empty. If a descendant keeps writing, waiting stops at the pipe's capacity.
   */
  #watchForQuiet(source: Source): void {
    const before = source.receivedBytes;
    setImmediate(() =>
      setImmediate(() => {
        const receivedAtExit = this.#draining?.waiting.get(source);
        if (receivedAtExit === undefined) return;
        const isQuiet = source.receivedBytes === before;
        if (!isQuiet && source.receivedBytes - receivedAtExit < pipeCapacityBytes) return this.#watchForQuiet(source);
        this.#draining?.waiting.delete(source);
        this.#settleDrain();
      }),
    );
  }

  #sourceEnded(source: Source): void {
    this.#open.delete(source);
    this.#events.streamEnded(source.stream);
    this.#draining?.waiting.delete(source);
    this.#settleDrain();
    if (this.#drained && this.#open.size === 0) this.#events.ended();
  }

  #settleDrain(): void {
    if (this.#draining === undefined || this.#draining.waiting.size > 0) return;
    const { drained } = this.#draining;
    this.#draining = undefined;
    if (this.#held) this.hold();
    drained(true);
    this.#drained = true;
    if (this.#open.size === 0) this.#events.ended();
  }
}
