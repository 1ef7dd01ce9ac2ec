// The progress of a transfer on a terminal: one line on stderr that is drawn over, and erased before anything else is printed.

import type { TransferProgress } from '../client/index.js';
import { shownSize } from './byte-size.js';
import { complain, printError } from './own-output.js';
import { cutTo } from './text-width.js';
import { visible } from './visible-text.js';

/** Time between redraws: more could not be read. */
const redrawMs = 100;

/** Characters of the bar. */
const barColumns = 20;

const eraseLine = '\r\x1b[K';

export class ProgressLine {
  readonly #isShown = process.stderr.isTTY;
  readonly #startedAt = performance.now();
  #drawnAt = -Infinity;
  #isDrawn = false;
  /** Of a single file; unknown for a folder. */
  totalBytes: number | undefined;

  /** Draws, unless it has just done so; the end of a file is always drawn. */
  update(progress: TransferProgress): void {
    const now = performance.now();
    const isComplete = progress.bytes === this.totalBytes;
    if (!this.#isShown || (now - this.#drawnAt < redrawMs && !isComplete)) return;
    this.#drawnAt = now;
    this.#isDrawn = true;
    const line = cutTo(process.stderr.columns - 1, this.#text(progress, (now - this.#startedAt) / 1_000));
    void printError(`${eraseLine}${line}`).catch(() => {}); // the transfer matters more
  }

  /** Prints a message in its place. */
  complain(text: string): void {
    this.erase();
    void complain(text);
  }

  erase(): void {
    if (this.#isDrawn) void printError(eraseLine).catch(() => {});
    this.#isDrawn = false;
  }

  #text({ files, bytes, path }: TransferProgress, seconds: number): string {
    const rate = `${shownSize(Math.round(bytes / Math.max(seconds, 0.001)))}/s`;
    const done = this.totalBytes === undefined ? `${files} files` : bar(bytes, this.totalBytes);
    return `${done}  ${shownSize(bytes)}  ${rate}  ${visible(path)}`;
  }
}

function bar(bytes: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(bytes / total, 1);
  const full = Math.floor(part * barColumns);
  return `[${'='.repeat(full)}${' '.repeat(barColumns - full)}] ${Math.floor(part * 100)}%`;
}
