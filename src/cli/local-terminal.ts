// The terminal the user sits at: raw while a command has it, restored on every way out, its size passed on.

import { spawnSync } from 'node:child_process';
import { isatty } from 'node:tty';
import type { ProcessHandle } from '../client/index.js';
import type { Size } from '../protocol/index.js';

/** What a terminal has when ours is none, as in a script. */
const fallbackSize = { rows: 24, cols: 80 };

export class LocalTerminal {
  get size(): Size {
    const { rows, columns } = process.stdout;
    return rows > 0 && columns > 0 ? { rows, cols: columns } : fallbackSize;
  }

  /** Keys go to the command one by one, and its output comes through untouched, until disposed. */
  raw(): Disposable {
    if (!isatty(0)) return { [Symbol.dispose]() {} };
    const restore = () => void process.stdin.setRawMode(false);
    const enter = () => {
      restore(); // after a stop in the background the terminal is as the shell left it
      process.stdin.setRawMode(true);
      // Node's raw mode goes on turning line feeds into CR LF, which the command's own terminal has done already.
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
    const lend = () => void child.resize(this.size).catch(() => {}); // ended meanwhile, or its server has: told elsewhere
    if (process.stdout.isTTY) lend();
    process.stdout.on('resize', lend);
    return {
      [Symbol.dispose]() {
        process.stdout.off('resize', lend);
      },
    };
  }
}
