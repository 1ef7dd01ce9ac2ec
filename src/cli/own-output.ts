// Where a process's output goes. Each takes chunks at its own pace, and says when there is nobody left to take them for.

import { once } from 'node:events';
import { type CollectedStream, OutputCollector, type OutputChunk } from '../client/index.js';

export interface OutputSink {
  /** `gone`: whoever read our stdout has gone away. */
  take(chunk: OutputChunk): Promise<'taken' | 'gone'>;
}

/** To our own stdout and stderr, at once. */
export class OwnStreams implements OutputSink {
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
    if (droppedBytes > 0) process.stderr.write(gapLine(droppedBytes));
    return this.write(stream === 'stderr' ? process.stderr : process.stdout, bytes);
  }

  async write(target: NodeJS.WriteStream, bytes: Uint8Array): Promise<'taken' | 'gone'> {
    if (this.#isStdoutGone) return 'gone';
    if (target === process.stderr && this.#isStderrGone) return 'taken';
    if (target.write(bytes)) return 'taken';
    const taken = once(target, 'drain').then(
      (): 'taken' => 'taken',
      (): 'taken' => 'taken',
    );
    return Promise.race([taken, this.#stdoutGone]);
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

  async take({ stream, bytes }: OutputChunk): Promise<'taken'> {
    (stream === 'stderr' ? this.#stderr : this.#stdout).add(bytes);
    return 'taken';
  }

  result(): { readonly stdout: CollectedStream; readonly stderr: CollectedStream } {
    return { stdout: this.#stdout.result(), stderr: this.#stderr.result() };
  }
}

export function gapLine(droppedBytes: number): string {
  return `[sluice: ${droppedBytes} bytes are missing here; they were no longer retained]\n`;
}
