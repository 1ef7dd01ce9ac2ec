// Starts a command, writes its input, waits, and collects its output. A non-zero exit code is a result, not an exception.

import { joinBytes } from '../base/join-bytes.js';
import type { Ending } from '../protocol/index.js';
import { checkOptions } from '../protocol/read-params.js';
import type { Client, StartOptions } from './client.js';
import { type Input, piecesOf } from './input.js';
import { runOptions } from './option-checks.js';
import type { ProcessHandle } from './process-handle.js';

export interface RunOptions extends Omit<StartOptions, 'argv' | 'prepared'> {
  /** Written to stdin, which is then closed. */
  readonly input?: Input;
  /** Rejected: the option is called `input`. */
  readonly stdin?: never;
  /** Maximum kept per stream; the rest is counted and discarded. 16 MiB when absent. */
  readonly maxOutputBytes?: number;
  /** Terminates the process and its tree; the result shows how far it got. */
  readonly signal?: AbortSignal;
}

export interface CollectedStream {
  readonly bytes: Uint8Array;
  readonly text: string;
  /** Bytes beyond `maxOutputBytes`. */
  readonly droppedBytes: number;
}

export interface RunResult {
  readonly ending: Ending;
  /** Also holds the output of a terminal. */
  readonly stdout: CollectedStream;
  readonly stderr: CollectedStream;
}

const defaultMaxOutputBytes = 16 * 1024 * 1024;

export async function runCommand(client: Client, argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  checkOptions(runOptions, options);
  const { input, maxOutputBytes = defaultMaxOutputBytes, signal, stdin: _stdin, ...start } = options;
  signal?.throwIfAborted();
  const io = start.io ?? { kind: 'pipe', stdin: input === undefined ? 'closed' : 'open' };
  await using child = await client.start({ ...start, io, argv });
  const abort = () => void child.terminate().catch(() => {}); // the ending reports how the process ended
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort(); // aborted during the start
  try {
    const feeding = input === undefined ? undefined : feed(child, input);
    feeding?.catch(abort); // the process might wait for the rest for ever; the error is thrown below, after the output
    const stdout = new OutputCollector(maxOutputBytes);
    const stderr = new OutputCollector(maxOutputBytes);
    for await (const chunk of child.output) (chunk.stream === 'stderr' ? stderr : stdout).add(chunk.bytes);
    const ending = await child.closed;
    // The input may wait for ever on its own source; once the process has ended only an error that already occurred matters.
    await Promise.race([feeding, Promise.resolve()]);
    return { ending, stdout: stdout.result(), stderr: stderr.result() };
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

async function feed(child: ProcessHandle, input: Input): Promise<void> {
  for await (const piece of piecesOf(input)) if ((await child.write(piece)) === 'stdinClosed') return;
  await child.closeStdin();
}

/** Keeps the first bytes and counts the rest. */
export class OutputCollector {
  readonly #maxBytes: number;
  readonly #parts: Uint8Array[] = [];
  #keptBytes = 0;
  #droppedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, this.#maxBytes - this.#keptBytes);
    if (kept.length > 0) this.#parts.push(kept);
    this.#keptBytes += kept.length;
    this.#droppedBytes += bytes.length - kept.length;
  }

  result(): CollectedStream {
    const bytes = joinBytes(this.#parts);
    return { bytes, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), droppedBytes: this.#droppedBytes };
  }
}
