// Where a process's output goes. Each takes chunks at its own pace, and says when there is nobody left to take them for.

import { once } from 'node:events';
import { type CollectedStream, OutputCollector, type OutputChunk } from '../client/index.js';

export interface OutputSink {
  /** `gone`: whoever read our stdout has gone away. */
  take(chunk: OutputChunk): Promise<'taken' | 'gone'>;
}

/** To our own stdout and stderr, at once. */
export class OwnStreams implements OutputSink {
  /** What stands before our next line on stderr did not end its own. */
  #isLineBegun = false;
  readonly #stdoutGone: Promise<'gone'>;
  #isStdoutGone = false;
  #isStderrGone = false;

  constructor() {
    this.#stdoutGone = once(process.stdout, 'error').then(
      (): 'gone' => 'gone',
      (): 'gone' => 'gone',
    );
    void this.#stdoutGone.then(() => (this.#isStdoutGone = true));
    process.stderr.on('error', () => (this.#isStderrGone = true)); // nobody to tell; the command goes on
  }

  async take({ stream, bytes, droppedBytes }: OutputChunk): Promise<'taken' | 'gone'> {
    if (droppedBytes > 0) this.#writeLine(gapText(droppedBytes));
    return this.write(stream === 'stderr' ? process.stderr : process.stdout, bytes);
  }

  async write(target: NodeJS.WriteStream, bytes: Uint8Array): Promise<'taken' | 'gone'> {
    if (this.#isStdoutGone) return 'gone';
    if (target === process.stderr && this.#isStderrGone) return 'taken';
    this.#noteColumn(target, bytes);
    if (target.write(bytes)) return 'taken';
    const taken = once(target, 'drain').then(
      (): 'taken' => 'taken',
      (): 'taken' => 'taken',
    );
    return Promise.race([taken, this.#stdoutGone]);
  }

  /** A message of ours, on a line of its own whatever the command has written. */
  tell(text: string): void {
    this.#writeLine(`sluice: ${text}`);
  }

  #writeLine(text: string): void {
    if (this.#isStderrGone) return;
    // A terminal in raw mode does not return the carriage by itself; in any other mode one more return does nothing.
    const lineEnd = process.stderr.isTTY ? '\r\n' : '\n';
    process.stderr.write(`${this.#isLineBegun ? lineEnd : ''}${text}${lineEnd}`);
    this.#isLineBegun = false;
  }

  /** Where the cursor is left. On a terminal, stdout and stderr have the same one. */
  #noteColumn(target: NodeJS.WriteStream, bytes: Uint8Array): void {
    const isSeen = target === process.stderr || (target.isTTY && process.stderr.isTTY);
    if (isSeen && bytes.length > 0) this.#isLineBegun = bytes.at(-1) !== lineFeed;
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

  async take({ stream, bytes }: OutputChunk): Promise<'taken'> {
    (stream === 'stderr' ? this.#stderr : this.#stdout).add(bytes);
    return 'taken';
  }

  result(): { readonly stdout: CollectedStream; readonly stderr: CollectedStream } {
    return { stdout: this.#stdout.result(), stderr: this.#stderr.result() };
  }
}

export function gapLine(droppedBytes: number): string {
  return `${gapText(droppedBytes)}\n`;
}

function gapText(droppedBytes: number): string {
  return `[sluice: ${droppedBytes} bytes are missing here; they were no longer retained]`;
}
