// Reaps our children and adopted orphans, and leaves the children of other code in this program alone.

import type { Clock, Timer } from '../../base/clock.js';
import type { WaitStatus } from '../child.js';
import { childrenOfThread, readLinuxEntry } from '../end/proc-files.js';
import { signalName } from '../end/signals.js';
import type { Libc } from './libc.js';

const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x01000000;
const P_ALL = 0;

/** Offset of the child's pid in siginfo_t. */
const pidOffset = 16;

/** SIGCHLD announces every exit; the sweep catches one whose signal other code swallowed, or that other code reaped. */
const sweepMs = 1_000;

/** Children checked in one sweep: thousands at once would block the event loop. */
const sweepCount = 256;

/** Longest that reaping may block the event loop in one turn, in milliseconds: thousands of processes may end at once. */
const sliceMs = 1;

/** Orphans that this program adopts. */
export interface AdoptedOrphans {
  /** Whether this child of ours is an orphan from one of our trees. */
  isOurs(pid: number): boolean;
  /** The orphan has been reaped: its pid may now belong to another process. */
  collected(pid: number): void;
}

export class Reaper {
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #live = new Map<number, (status: WaitStatus) => void>();
  readonly #info = Buffer.alloc(128);
  readonly #usage = Buffer.alloc(256);
  readonly #status = new Int32Array(1);
  #ownMaxRssKib = 0;
  readonly #collect = () => this.#collectExited();
  #isCollecting = false;
  /** Also keeps the program alive while a child runs, which a signal listener does not. */
  #sweep: Timer | undefined;
  /** Undefined when this program does not adopt orphans. */
  #orphans: AdoptedOrphans | undefined;
  #strangers: Timer | undefined;

  constructor(libc: Libc, clock: Clock) {
    this.#libc = libc;
    this.#clock = clock;
    // One listener per server in this program is intended, so Node's leak warning must allow for it.
    process.setMaxListeners(process.getMaxListeners() + 1);
    process.on('SIGCHLD', this.#collect);
  }

  /** From now on, adopted orphans are reaped too. */
  adopt(orphans: AdoptedOrphans): void {
    this.#orphans = orphans;
  }

  /** Whether this is a watched child, which keeps its pid until it is reaped here. */
  isWatched(pid: number): boolean {
    return this.#live.has(pid);
  }

  /** `ended` is called once, never before this returns. */
  watch(pid: number, ended: (status: WaitStatus) => void): void {
    this.#live.set(pid, ended);
    if (this.#sweep === undefined) this.#armSweep();
  }

  /** Nothing is being watched. */
  get isIdle(): boolean {
    return this.#live.size === 0;
  }

  close(): void {
    process.off('SIGCHLD', this.#collect);
    process.setMaxListeners(process.getMaxListeners() - 1);
    this.#sweep?.cancel();
    this.#strangers?.cancel();
    for (const pid of this.#exitedStrangers()) if (this.#orphans?.isOurs(pid) === true) this.#collectOrphan(pid);
    this.#orphans = undefined;
  }

  #armSweep(): void {
    this.#sweep = this.#clock.after(sweepMs, () => {
      this.#sweep = undefined;
      // One by one, because a peek does not show a child that other code has reaped. Checked children move to the end, so all get a turn.
      for (const [pid, ended] of [...this.#live].slice(0, sweepCount)) {
        this.#live.delete(pid);
        this.#live.set(pid, ended);
        this.#reap(pid);
      }
      if (this.#live.size > 0) this.#armSweep();
    });
  }

  #collectExited(): void {
    if (this.#isCollecting) return; // a slice is under way
    this.#isCollecting = true;
    const isDone = this.#collectSlice();
    this.#isCollecting = !isDone;
    if (!isDone) {
      setImmediate(() => {
        this.#isCollecting = false;
        this.#collectExited();
      });
    } else if (this.#live.size === 0) {
      this.#sweep?.cancel();
      this.#sweep = undefined;
    }
  }

  /**
   * Peeks at any exited child, which costs the same whether one child is alive or a thousand, and reaps it if it is ours. False when there
   * is more to do.
   */
  #collectSlice(): boolean {
    for (const endsAt = performance.now() + sliceMs; performance.now() < endsAt;) {
      this.#info.fill(0);
      if (this.#libc.waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT) !== 0) return true;
      const pid = this.#info.readInt32LE(pidOffset);
      if (pid === 0) return true;
      if (this.#live.has(pid)) this.#reap(pid);
      else if (this.#orphans?.isOurs(pid) === true) this.#collectOrphan(pid);
      else {
        // A child of other code in this program hides ours from the peek until that code reaps it.
        this.#reapAll();
        if (this.#orphans !== undefined && this.#strangers === undefined) this.#watchStrangers(new Set());
        return true;
      }
    }
    return false;
  }

  #collectOrphan(pid: number): void {
    this.#libc.wait4(pid, this.#status, WNOHANG, this.#usage);
    this.#orphans?.collected(pid);
  }

  /**
   * An orphan that changed its limits looks like a child of other code in this program. One that is still not reaped a sweep later has no
   * other owner: Node reaps its own children within a turn of the event loop.
   */
  #watchStrangers(seen: ReadonlySet<number>): void {
    this.#strangers = this.#clock.afterIdle(sweepMs, () => {
      this.#strangers = undefined;
      const strangers = new Set(this.#exitedStrangers());
      for (const pid of strangers) {
        if (!seen.has(pid) && this.#orphans?.isOurs(pid) !== true) continue;
        this.#collectOrphan(pid);
        strangers.delete(pid);
      }
      if (strangers.size > 0) this.#watchStrangers(strangers);
      this.#collectExited();
    });
  }

  #exitedStrangers(): number[] {
    if (this.#orphans === undefined) return [];
    try {
      return childrenOfThread(process.pid, process.pid).filter(
        (pid) => !this.#live.has(pid) && readLinuxEntry(pid)?.isZombie === true,
      );
    } catch {
      return []; // out of descriptors: the next sweep will find them
    }
  }

  #reapAll(): void {
    for (const pid of [...this.#live.keys()]) this.#reap(pid);
  }

  #reap(pid: number): void {
    const result = this.#libc.wait4(pid, this.#status, WNOHANG, this.#usage);
    if (result === 0) return; // still running
    const ended = this.#live.get(pid);
    this.#live.delete(pid);
    // Any other result means that other code reaped the child, so its exit status is lost.
    ended?.(result === pid ? this.#decode(this.#status[0] ?? 0) : { kind: 'lost' });
  }

  #decode(status: number): WaitStatus {
    const maxRssKib = this.#long(4);
    const resources = {
      userMs: this.#milliseconds(0),
      systemMs: this.#milliseconds(2),
      ...(this.#isAboveOwn(maxRssKib) ? { maxRssBytes: maxRssKib * 1024 } : {}),
    };
    const signal = status & 0x7f;
    if (signal === 0) return { kind: 'code', code: (status >> 8) & 0xff, resources };
    return { kind: 'signal', signal: signalName(signal), resources };
  }

  /** Until its exec a child shares our memory, so the kernel never reports less than our own peak: only a higher value is the child's. */
  #isAboveOwn(maxRssKib: number): boolean {
    if (maxRssKib > this.#ownMaxRssKib) this.#ownMaxRssKib = process.resourceUsage().maxRSS; // it only grows, and the call is expensive
    return maxRssKib > this.#ownMaxRssKib;
  }

  /** Member `index` of struct rusage, all of whose members are longs. */
  #long(index: number): number {
    const isWide = process.arch !== 'arm' && process.arch !== 'ia32';
    return isWide ? Number(this.#usage.readBigInt64LE(index * 8)) : this.#usage.readInt32LE(index * 4);
  }

  #milliseconds(index: number): number {
    return this.#long(index) * 1000 + this.#long(index + 1) / 1000;
  }
}
