// What becomes of a process's output: printed at once, or kept for the end.

import { type CollectedStream, OutputCollector, type OutputChunk } from '../client/index.js';
import { print, printError } from './own-output.js';

/** Where a process's output goes, at the pace of whatever takes it. */
export interface OutputSink {
  /** Rejects when the chunk cannot be passed on. */
  take(chunk: OutputChunk): Promise<void>;
}

/** To our own stdout and stderr, at once. */
export class OwnStreams implements OutputSink {
  async take({ stream, bytes, droppedBytes }: OutputChunk): Promise<void> {
    if (droppedBytes > 0) await printError(gapLine(droppedBytes));
    await (stream === 'stderr' ? printError(bytes) : print(bytes));
  }
}

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
