// Where a process's output goes: printed at once, or kept until the end.

import { type CollectedStream, OutputCollector, type OutputChunk } from '../client/index.js';
import { complain, print, printError } from './own-output.js';
import { ProgramModes } from './program-modes.js';
import type { QueryFilter } from './query-filter.js';

/** Takes a process's output, at the pace of its destination. */
export interface OutputSink {
  /** Rejects when the chunk cannot be passed on. */
  take(chunk: OutputChunk): Promise<void>;
}

export interface OwnStreamsOptions {
  /**
   * Which of the process's queries our terminal gets to answer: live ones, or none when the answers would not reach the process. Queries
   * in replayed output are removed either way.
   */
  readonly queries: 'live' | 'none';
}

/** Writes to our own stdout and stderr at once. */
export class OwnStreams implements OutputSink {
  readonly #queries: OwnStreamsOptions['queries'];
  /** One for each stream whose replayed output was shown on a terminal. */
  readonly #filters = new Map<OutputChunk['stream'], QueryFilter>();
  readonly #modes = new ProgramModes();
  /** The line before our next message on stderr is unfinished. */
  #isLineBegun = false;

  constructor({ queries }: OwnStreamsOptions = { queries: 'live' }) {
    this.#queries = queries;
  }

  async take(chunk: OutputChunk): Promise<void> {
    const { stream, droppedBytes } = chunk;
    const name = stream === 'stderr' ? 'stderr' : 'stdout';
    if (droppedBytes > 0) {
      await this.write(name, this.#heldBack(stream));
      await this.#beginLine();
      await printError(gapLine(droppedBytes));
    }
    const shown = process[name].isTTY ? await this.#withoutOldQueries(chunk) : chunk.bytes;
    if (stream === 'pty' && process.stdout.isTTY) this.#modes.see(shown);
    await this.write(name, shown);
  }

  async write(name: 'stdout' | 'stderr', output: string | Uint8Array): Promise<void> {
    if (output.length === 0) return;
    // On a terminal, stdout and stderr have the same cursor.
    const isSeen = name === 'stderr' || (process.stdout.isTTY && process.stderr.isTTY);
    const last = output.at(-1);
    if (isSeen && last !== undefined) this.#isLineBegun = last !== lineFeed && last !== '\n';
    await (name === 'stdout' ? print(output) : printError(output));
  }

  /** Prints our own message on a separate line, whatever the command has written. */
  async notify(text: string): Promise<void> {
    await this.#beginLine();
    await complain(text, this.#lineEnd);
  }

  /** Resets the terminal modes set by a program that keeps running without us or had no time to reset them. */
  async tidy(): Promise<void> {
    await this.write('stdout', this.#modes.undo());
  }

  /** An unfinished sequence at the very end is never shown: the terminal would read the next prompt as part of it. */
  async #withoutOldQueries({ stream, bytes, isReplayed = false }: OutputChunk): Promise<Uint8Array> {
    if (!isReplayed && this.#queries === 'live') {
      const held = this.#heldBack(stream); // the rest of the sequence is live, so a query would be live too
      return held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    }
    const filter = this.#filters.get(stream) ?? new (await import('./query-filter.js')).QueryFilter();
    this.#filters.set(stream, filter);
    return filter.push(bytes);
  }

  #heldBack(stream: OutputChunk['stream']): Uint8Array {
    return this.#filters.get(stream)?.end() ?? new Uint8Array();
  }

  async #beginLine(): Promise<void> {
    if (!this.#isLineBegun) return;
    this.#isLineBegun = false;
    await printError(this.#lineEnd);
  }

  /** A terminal in raw mode needs an explicit carriage return; in any other mode an extra one does nothing. */
  get #lineEnd(): '\n' | '\r\n' {
    return process.stderr.isTTY ? '\r\n' : '\n';
  }
}

const lineFeed = 0x0a;

/** Keeps output until the end, up to a limit. */
export class KeptOutput implements OutputSink {
  readonly #stdout: OutputCollector;
  readonly #stderr: OutputCollector;

  constructor(maxBytes: number) {
    this.#stdout = new OutputCollector(maxBytes);
    this.#stderr = new OutputCollector(maxBytes);
  }

  async take({ stream, bytes }: OutputChunk): Promise<void> {
    (stream === 'stderr' ? this.#stderr : this.#stdout).add(bytes);
  }

  result(): { readonly stdout: CollectedStream; readonly stderr: CollectedStream } {
    return { stdout: this.#stdout.result(), stderr: this.#stderr.result() };
  }
}

export function gapLine(droppedBytes: number): string {
  return `[sluice: ${droppedBytes} bytes are missing here; they were no longer retained]\n`;
}
