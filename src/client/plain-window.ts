// Flow control for a server without acknowledgements: while the readers are too far behind, the connection is not read, which blocks the
// server.

import type { ProcessId, Seq } from '../protocol/index.js';
import type { Channel } from '../rpc/channel.js';

/** Unread output of one process at which reading pauses. Well above what a source reads before it acknowledges. */
const pauseBytes = 1024 * 1024;

/** The same while a reply or another process's events may follow that output. Beyond it, they have to wait for the reader too. */
const sharedPauseBytes = 64 * 1024 * 1024;

interface Unread {
  readonly seq: Seq;
  readonly bytes: number;
}

export class PlainWindow {
  readonly #channel: Pick<Channel, 'pause' | 'resume'>;
  readonly #unread = new Map<ProcessId, { bytes: number; readonly chunks: Unread[] }>();
  readonly #running = new Set<ProcessId>();
  /** The processes above each limit. */
  readonly #ahead = new Set<ProcessId>();
  readonly #farAhead = new Set<ProcessId>();
  #calls = 0;
  #isPaused = false;

  constructor(channel: Pick<Channel, 'pause' | 'resume'>) {
    this.#channel = channel;
  }

  join(processId: ProcessId): void {
    this.#running.add(processId);
    this.#settle();
  }

  /** The process sends no more output. Its unread output still counts. */
  leave(processId: ProcessId): void {
    this.#running.delete(processId);
    this.#settle();
  }

  add({ processId, seq, chunk }: { readonly processId: ProcessId; readonly seq: Seq; readonly chunk: Uint8Array }): void {
    const unread = this.#unread.get(processId) ?? { bytes: 0, chunks: [] };
    this.#unread.set(processId, unread);
    unread.chunks.push({ seq, bytes: chunk.length });
    unread.bytes += chunk.length;
    this.#judge(processId, unread.bytes);
  }

  acknowledge({ processId, seq }: { readonly processId: ProcessId; readonly seq: Seq }): void {
    const unread = this.#unread.get(processId);
    if (unread === undefined) return;
    const at = unread.chunks.findIndex((each) => each.seq > seq);
    const read = unread.chunks.splice(0, at < 0 ? unread.chunks.length : at);
    unread.bytes -= read.reduce((sum, { bytes }) => sum + bytes, 0);
    if (unread.chunks.length === 0) this.#unread.delete(processId);
    this.#judge(processId, unread.bytes);
  }

  /** Raises the limit while a call is in progress, until disposed. */
  lift(): Disposable {
    this.#calls += 1;
    this.#settle();
    return {
      [Symbol.dispose]: () => {
        this.#calls -= 1;
        this.#settle();
      },
    };
  }

  #judge(processId: ProcessId, bytes: number): void {
    if (bytes > pauseBytes) this.#ahead.add(processId);
    else this.#ahead.delete(processId);
    if (bytes > sharedPauseBytes) this.#farAhead.add(processId);
    else this.#farAhead.delete(processId);
    this.#settle();
  }

  #settle(): void {
    const isAwaited = this.#calls > 0 || [...this.#running].some((id) => !this.#ahead.has(id));
    const isPaused = (isAwaited ? this.#farAhead : this.#ahead).size > 0;
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#channel.pause();
    else this.#channel.resume();
  }
}
