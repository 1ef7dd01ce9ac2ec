// A mark that every descendant of a process carries: the soft limit of RLIMIT_RTTIME. It is inherited by fork and kept by
// exec, setsid and daemons; anybody may set it; /proc shows it to anybody; and it limits only real-time scheduling,
// here to years. The mark is on this program while it spawns, so the child has it from its first instruction.

import { randomInt } from 'node:crypto';
import { uptime } from 'node:os';
import type { ProcEntry } from '../end/proc-files.js';
import type { Libc } from './libc.js';

const RLIMIT_RTTIME = 15;

/** A mark is a nine-digit number for the program and eight digits for the process: together below 2^63. */
const processDigits = 8;
const processCount = 10 ** processDigits;

/** Ticks per second in which /proc tells when a process started; fixed by the kernel's interface. */
const ticksPerSecond = 100;

export class Lineage {
  /** First digits of every mark this program makes. */
  readonly prefix = String(randomInt(10 ** 8, 10 ** 9));
  readonly #libc: Libc;
  readonly #ownLimit = new BigUint64Array(2);
  readonly #markedLimit = new BigUint64Array(2);
  /** Of no process that carries a mark, in ticks since boot. */
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

  /** Runs `spawn` so that what it spawns, and whatever descends from that, is marked. */
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

  /** Older than this program's first mark: it need not be asked for one. */
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
