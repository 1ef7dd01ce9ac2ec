// The yield window: collects output until a deadline, a silence, a text or the exit, whichever comes first.

import type { Clock } from '../base/clock.js';
import type { Stream } from '../protocol/index.js';
import type { OutputChunk, OutputQueue } from './output-queue.js';

export interface CollectOptions {
  /** Return after at most this long. */
  readonly deadlineMs: number;
  /** Return after this long without output, once there has been some. */
  readonly quietMs?: number;
  /** Return when this occurs in one of the streams. */
  readonly text?: string | RegExp;
  /** Keep at most this much and count the rest; 1 MiB when absent. The end is kept, because that is what a caller waits for. */
  readonly maxBytes?: number;
}

export interface Collected {
  /** In order of arrival. The beginning of the first chunk may be cut off. The next read continues after the last chunk. */
  readonly chunks: readonly OutputChunk[];
  /** All chunks as text, each stream decoded separately. An incomplete character at the end is left out. */
  readonly text: string;
  /** Bytes beyond `maxBytes`, and bytes that were dropped before they reached this client. */
  readonly droppedBytes: number;
  /** What ended the wait: the text, silence, the deadline, the exit of the process, or, after the exit, the end of all output. */
  readonly reason: 'text' | 'quiet' | 'deadline' | 'exited' | 'closed';
  /** The text or match that was found. */
  readonly match?: string;
}

const defaultMaxBytes = 1024 * 1024;

/** Characters kept per stream to find a text that spans chunks; a match cannot reach back further. */
const searchedCharacters = 64 * 1024;

export async function collectUntil(queue: OutputQueue, options: CollectOptions, clock: Clock): Promise<Collected> {
  const window = new Window(options.maxBytes ?? defaultMaxBytes);
  const search = options.text === undefined ? undefined : new Search(options.text);
  const deadline = clock.elapsed() + options.deadlineMs;
  for (;;) {
    const restMs = Math.max(0, deadline - clock.elapsed());
    // Output that is already available is read even at the deadline, but a process that never stops writing must not block the caller.
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

/** The last `maxBytes` of the output. */
class Window {
  readonly #maxBytes: number;
  readonly #chunks: OutputChunk[] = [];
  #isEmpty = true;
  #bytes = 0;
  #droppedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether nothing has arrived yet; false even if everything that arrived was dropped. */
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

/** Searches each stream, including output that the window has dropped. */
class Search {
  readonly #wanted: string | RegExp;
  readonly #decode = streamDecoder();
  readonly #seen = new Map<Stream, string>();

  constructor(wanted: string | RegExp) {
    this.#wanted = typeof wanted === 'string' ? wanted : new RegExp(wanted, wanted.flags.replace(/[gy]/g, ''));
  }

  /** The match, if this chunk completes one. */
  find(chunk: OutputChunk): string | undefined {
    const text = (this.#seen.get(chunk.stream) ?? '') + this.#decode(chunk);
    this.#seen.set(chunk.stream, text.slice(-searchedCharacters));
    if (typeof this.#wanted === 'string') return text.includes(this.#wanted) ? this.#wanted : undefined;
    return this.#wanted.exec(text)?.[0];
  }
}

/** Decodes chunk by chunk, with a separate decoder for each stream. */
function streamDecoder(): (chunk: OutputChunk) => string {
  const decoders = new Map<Stream, InstanceType<typeof TextDecoder>>();
  return ({ stream, bytes }) => {
    const decoder = decoders.get(stream) ?? new TextDecoder('utf-8', { ignoreBOM: true });
    decoders.set(stream, decoder);
    return decoder.decode(bytes, { stream: true });
  };
}
