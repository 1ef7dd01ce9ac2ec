// A mark that every descendant of a process carries: the soft limit of RLIMIT_RTTIME. It is inherited across fork, exec, setsid and
// daemonizing; setting it needs no privilege; every user can read it in /proc; and it limits only real-time scheduling, here to years.
// This program sets the mark on itself while it spawns, so the child has it from its first instruction.

import { randomInt } from 'node:crypto';
import { uptime } from 'node:os';
import type { ProcEntry } from '../end/proc-files.js';
import type { Libc } from './libc.js';

const RLIMIT_RTTIME = 15;

/** A mark is a nine-digit number for the program and eight digits for the process: together below 2^63. */
const processDigits = 8;
const processCount = 10 ** processDigits;

/** Ticks per second of start times in /proc; fixed by the kernel's interface. */
const ticksPerSecond = 100;

export class Lineage {
  /** First digits of every mark that this program creates. */
  readonly prefix = String(randomInt(10 ** 8, 10 ** 9));
  readonly #libc: Libc;
  readonly #ownLimit = new BigUint64Array(2);
  readonly #markedLimit = new BigUint64Array(2);
  /** No process that started before this carries a mark; in ticks since boot. */
  readonly #bornBefore = Math.floor(uptime()) * ticksPerSecond;
  #spawned = 0;

  private constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Undefined where the limit cannot be set, as in some sandboxes. */
  static create(libc: Libc): Lineage | undefined {
    const lineage = new Lineage(libc);
    return lineage.#probe() ? lineage : undefined;
  }

  /** Runs `spawn` so that the process it spawns and all of its descendants carry the mark. */
  marked<T>(spawn: () => T): { result: T; mark: string } {
    this.#spawned = (this.#spawned + 1) % processCount;
    const mark = this.prefix + String(this.#spawned).padStart(processDigits, '0');
    this.#markedLimit[0] = BigInt(mark);
    this.#libc.setrlimit(RLIMIT_RTTIME, this.#markedLimit);
    try {
      return { result: spawn(), mark };
    } finally {
      this.#libc.setrlimit(RLIMIT_RTTIME, this.#ownLimit);
    }
  }

  /** Whether the process is older than this program's first mark and so cannot carry one. */
  isTooOld({ born }: ProcEntry): boolean {
    return Number(born) < this.#bornBefore;
  }

  #probe(): boolean {
    const libc = this.#libc;
    if (libc.getrlimit(RLIMIT_RTTIME, this.#ownLimit) !== 0) return false;
    const hard = this.#ownLimit[1] ?? 0n;
    this.#markedLimit.set([BigInt(this.prefix) * BigInt(processCount), hard]);
    if (libc.setrlimit(RLIMIT_RTTIME, this.#markedLimit) !== 0) return false;
    const readBack = new BigUint64Array(2);
    libc.getrlimit(RLIMIT_RTTIME, readBack);
    libc.setrlimit(RLIMIT_RTTIME, this.#ownLimit);
    return readBack[0] === this.#markedLimit[0];
  }
}
