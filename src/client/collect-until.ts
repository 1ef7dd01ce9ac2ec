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
  /** In order of arrival; the first one without its beginning when that was too much. The next read goes on after them. */
  readonly chunks: readonly OutputChunk[];
  /** All of them as text, each stream decoded on its own. A character still incomplete at the end is left out. */
  readonly text: string;
  /** Bytes that were more than `maxBytes`, or were missing before they came here. */
  readonly droppedBytes: number;
  /** What ended the wait: the text, silence, the deadline, the exit of the process, or, after that, the end of all output. */
  readonly reason: 'text' | 'quiet' | 'deadline' | 'exited' | 'closed';
  /** The text or match waited for. */
  readonly match?: string;
}

const defaultMaxBytes = 1024 * 1024;

/** Characters of each stream in which a text is looked for when more comes: as far as it may stretch over chunks. */
const searchedCharacters = 64 * 1024;

export async function collectUntil(queue: OutputQueue, options: CollectOptions, clock: Clock): Promise<Collected> {
  const window = new Window(options.maxBytes ?? defaultMaxBytes);
  const search = options.text === undefined ? undefined : new Search(options.text);
  const deadline = clock.elapsed() + options.deadlineMs;
  for (;;) {
    const restMs = Math.max(0, deadline - clock.elapsed());
    // What is there already is taken even at the deadline, but a process that never stops writing must not keep the caller.
    if (clock.elapsed() > deadline && !window.isEmpty) return window.result('deadline');
    const quietMs = window.isEmpty ? Infinity : (options.quietMs ?? Infinity);
    if (!(await queue.ready(clock, Math.min(restMs, quietMs)))) {
      return window.result(quietMs < restMs ? 'quiet' : 'deadline');
    }
    const chunk = await queue.take();
    if (chunk === 'exited' || chunk === 'closed') return window.result(chunk);
    window.add(chunk);
    const match = search?.find(chunk);
    if (match !== undefined) return { ...window.result('text'), match };
  }
}

/** The last bytes of what came. */
class Window {
  readonly #maxBytes: number;
  readonly #chunks: OutputChunk[] = [];
  #isEmpty = true;
  #bytes = 0;
  #droppedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Nothing came yet; not the same as nothing kept. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(chunk: OutputChunk): void {
    this.#isEmpty = false;
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    this.#droppedBytes += chunk.droppedBytes;
    for (let [first] = this.#chunks; first !== undefined && this.#bytes > this.#maxBytes; [first] = this.#chunks) {
      const cut = Math.min(first.bytes.length, this.#bytes - this.#maxBytes);
      if (cut === first.bytes.length) this.#chunks.shift();
      else this.#chunks[0] = { ...first, bytes: first.bytes.subarray(cut) };
      this.#bytes -= cut;
      this.#droppedBytes += cut;
    }
  }

  result(reason: Collected['reason']): Collected {
    const decode = streamDecoder();
    const text = this.#chunks.map(decode).join('');
    return { chunks: this.#chunks, text, droppedBytes: this.#droppedBytes, reason };
  }
}

/** Looks for a text in each stream, also in what the window has no room for. */
class Search {
  readonly #wanted: string | RegExp;
  readonly #decode = streamDecoder();
  readonly #seen = new Map<Stream, string>();

  constructor(wanted: string | RegExp) {
    this.#wanted = typeof wanted === 'string' ? wanted : new RegExp(wanted, wanted.flags.replace(/[gy]/g, ''));
  }

  /** What was waited for, when this chunk completes it. */
  find(chunk: OutputChunk): string | undefined {
    const text = (this.#seen.get(chunk.stream) ?? '') + this.#decode(chunk);
    this.#seen.set(chunk.stream, text.slice(-searchedCharacters));
    if (typeof this.#wanted === 'string') return text.includes(this.#wanted) ? this.#wanted : undefined;
    return this.#wanted.exec(text)?.[0];
  }
}

/** Chunk by chunk into text, each stream with a decoder of its own. */
function streamDecoder(): (chunk: OutputChunk) => string {
  const decoders = new Map<Stream, InstanceType<typeof TextDecoder>>();
  return ({ stream, bytes }) => {
    const decoder = decoders.get(stream) ?? new TextDecoder('utf-8', { ignoreBOM: true });
    decoders.set(stream, decoder);
    return decoder.decode(bytes, { stream: true });
  };
}
