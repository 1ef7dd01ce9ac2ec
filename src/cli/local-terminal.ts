// The terminal the user sits at: raw while a command has it, restored on every way out, its size passed on.

import type { ProcessHandle } from '../client/index.js';
import type { Io } from '../protocol/index.js';

/** What a terminal has when ours is none, as in a script. */
const fallbackSize = { rows: 24, cols: 80 };

export class LocalTerminal {
  io(): Io {
    return { kind: 'pty', ...this.#size() };
  }

  /** Raw mode and resizes until disposed. */
  attach(child: ProcessHandle): Disposable {
    const resize = () => void child.resize(this.#size());
    const restore = () => {
      if (process.stdin.isTTY) process.stdin.setRawMode(false);
    };
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdout.on('resize', resize);
    process.on('exit', restore); // also after an exception nobody caught
    return {
      [Symbol.dispose]() {
        process.stdout.off('resize', resize);
        process.off('exit', restore);
        restore();
      },
    };
  }

  #size(): { rows: number; cols: number } {
    const { rows, columns } = process.stdout;
    return rows > 0 && columns > 0 ? { rows, cols: columns } : fallbackSize;
  }
}
