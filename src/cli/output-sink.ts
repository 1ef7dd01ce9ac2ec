// What becomes of a process's output: printed at once, or kept for the end.

import { type CollectedStream, OutputCollector, type OutputChunk } from '../client/index.js';
import { complain, print, printError } from './own-output.js';

/** Where a process's output goes, at the pace of whatever takes it. */
export interface OutputSink {
  /** Rejects when the chunk cannot be passed on. */
  take(chunk: OutputChunk): Promise<void>;
}

/** To our own stdout and stderr, at once. */
export class OwnStreams implements OutputSink {
  /** What stands before our next line on stderr did not end its own. */
  #isLineBegun = false;

  async take({ stream, bytes, droppedBytes }: OutputChunk): Promise<void> {
    if (droppedBytes > 0) {
      await this.#beginLine();
      await printError(gapLine(droppedBytes));
    }
    await this.write(stream === 'stderr' ? 'stderr' : 'stdout', bytes);
  }

  async write(name: 'stdout' | 'stderr', output: string | Uint8Array): Promise<void> {
    // On a terminal, stdout and stderr have the same cursor.
    const isSeen = name === 'stderr' || (process.stdout.isTTY && process.stderr.isTTY);
    const last = output.at(-1);
    if (isSeen && last !== undefined) this.#isLineBegun = last !== lineFeed && last !== '\n';
    await (name === 'stdout' ? print(output) : printError(output));
  }

  /** A message of ours, on a line of its own whatever the command has written. */
  async tell(text: string): Promise<void> {
    await this.#beginLine();
    await complain(text, this.#lineEnd);
  }

  async #beginLine(): Promise<void> {
    if (!this.#isLineBegun) return;
    this.#isLineBegun = false;
    await printError(this.#lineEnd);
  }

  /** A terminal in raw mode does not return the carriage by itself; in any other mode one more return does nothing. */
  get #lineEnd(): '\n' | '\r\n' {
    return process.stderr.isTTY ? '\r\n' : '\n';
  }
}

const lineFeed = 0x0a;

/** Kept until the end, bounded. */
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
