// The yield window: collect output until a deadline, a silence, a text or the exit, whichever comes first.

import type { Clock } from '../base/clock.js';
import type { Stream } from '../protocol/index.js';
import type { OutputChunk, OutputQueue } from './output-queue.js';

export interface CollectOptions {
  /** Return after this long in any case. */
  readonly deadlineMs: number;
  /** Return after this long without output, once there was some. */
  readonly quietMs?: number;
  /** Return when one of the streams contains this. */
  readonly text?: string | RegExp;
  /** Keep at most this much and count the rest; 1 MiB when absent. The end is kept, since that is what a caller waits for. */
  readonly maxBytes?: number;
}

export interface Collected {
  /** Whole chunks in order of arrival; the next read goes on after them. */
  readonly chunks: readonly OutputChunk[];
  /** All of them as text, each stream decoded on its own. A character still incomplete at the end is left out. */
  readonly text: string;
  readonly droppedBytes: number;
  /** What ended the wait: the text, silence, the deadline, the exit of the process, or, after that, the end of all output. */
  readonly reason: 'text' | 'quiet' | 'deadline' | 'exited' | 'closed';
  /** The text or match waited for. */
  readonly match?: string;
}

const defaultMaxBytes = 1024 * 1024;

export async function collectUntil(queue: OutputQueue, options: CollectOptions, clock: Clock): Promise<Collected> {
  const window = new Window(options.maxBytes ?? defaultMaxBytes);
  const deadline = clock.now() + options.deadlineMs;
  for (;;) {
    const restMs = Math.max(0, deadline - clock.now());
    const quietMs = window.isEmpty ? Infinity : (options.quietMs ?? Infinity);
    if (!(await queue.ready(clock, Math.min(restMs, quietMs)))) {
      return window.result(quietMs < restMs ? 'quiet' : 'deadline');
    }
    const chunk = await queue.take();
    if (chunk === 'exited' || chunk === 'closed') return window.result(chunk);
    window.add(chunk);
    const match = options.text === undefined ? undefined : window.find(chunk.stream, options.text);
    if (match !== undefined) return { ...window.result('text'), match };
  }
}

class Window {
  readonly #maxBytes: number;
  readonly #chunks: OutputChunk[] = [];
  readonly #texts = new Map<Stream, { decoder: InstanceType<typeof TextDecoder>; text: string }>();
  #text = '';
  #bytes = 0;
  #droppedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  add(chunk: OutputChunk): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    this.#droppedBytes += chunk.droppedBytes;
    const stream = this.#texts.get(chunk.stream) ?? { decoder: new TextDecoder(), text: '' };
    this.#texts.set(chunk.stream, stream);
    const text = stream.decoder.decode(chunk.bytes, { stream: true });
    stream.text = (stream.text + text).slice(-this.#maxBytes);
    this.#text = (this.#text + text).slice(-this.#maxBytes);
    for (let first = this.#chunks[0]; this.#bytes > this.#maxBytes && this.#chunks.length > 1; first = this.#chunks[0]) {
      this.#chunks.shift();
      this.#bytes -= first?.bytes.length ?? 0;
      this.#droppedBytes += first?.bytes.length ?? 0;
    }
  }

  find(stream: Stream, wanted: string | RegExp): string | undefined {
    const text = this.#texts.get(stream)?.text ?? '';
    if (typeof wanted === 'string') return text.includes(wanted) ? wanted : undefined;
    return new RegExp(wanted, wanted.flags.replace(/[gy]/g, '')).exec(text)?.[0];
  }

  result(reason: Collected['reason']): Collected {
    return { chunks: this.#chunks, text: this.#text, droppedBytes: this.#droppedBytes, reason };
  }
}
