// The user's own terminal: raw while a command uses it, restored on every way out, its size forwarded.

import { spawnSync } from 'node:child_process';
import { isatty } from 'node:tty';
import type { ProcessHandle } from '../client/index.js';
import type { Size } from '../protocol/index.js';

/** The size to use when our stdout is not a terminal, as in a script. */
const fallbackSize = { rows: 24, cols: 80 };

export class LocalTerminal {
  get size(): Size {
    const { rows, columns } = process.stdout;
    return rows > 0 && columns > 0 ? { rows, cols: columns } : fallbackSize;
  }

  /** Makes the terminal pass on keys one by one and print the command's output unchanged, until disposed. */
  raw(): Disposable {
    if (!isatty(0)) return { [Symbol.dispose]() {} };
    const restore = () => void process.stdin.setRawMode(false);
    const enter = () => {
      restore(); // after we were stopped, the terminal is as the shell left it
      process.stdin.setRawMode(true);
      // Node's raw mode still turns line feeds into CR LF, which the command's own terminal has already done.
      spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
    };
    enter();
    process.on('SIGCONT', enter);
    process.on('exit', restore); // also after an uncaught exception
    return {
      [Symbol.dispose]() {
        process.off('SIGCONT', enter);
        process.off('exit', restore);
        restore();
      },
    };
  }

  /** Gives the command's terminal the size of ours, now and whenever it changes, until disposed. */
  lendSize(child: ProcessHandle): Disposable {
    const lend = () => void child.resize(this.size).catch(() => {}); // it or its server has ended: reported elsewhere
    if (process.stdout.isTTY) lend();
    process.stdout.on('resize', lend);
    return {
      [Symbol.dispose]() {
        process.stdout.off('resize', lend);
      },
    };
  }
}
