// Collects the exit status of our children, and orphans that came to this program; the children that it has besides are left alone.

import type { Clock, Timer } from '../../base/clock.js';
import type { WaitStatus } from '../child.js';
import { childrenOfThread, readLinuxEntry } from '../end/proc-files.js';
import { signalName } from '../end/signals.js';
import type { Libc } from './libc.js';

const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x01000000;
const P_ALL = 0;

/** Where siginfo_t has the pid of the child. */
const pidOffset = 16;

/** SIGCHLD announces every exit; this look catches one that other code's signal handling swallowed, or collected for itself. */
const sweepMs = 1_000;

/** Children looked at in one sweep: thousands at once would keep the event loop. */
const sweepCount = 256;

/** Longest that collecting keeps the event loop in one turn, in milliseconds: thousands of processes may end at once. */
const sliceMs = 1;

/** Orphans that come to this program. */
export interface AdoptedOrphans {
  /** Whether this child of ours is an orphan from one of our trees. */
  isOurs(pid: number): boolean;
  /** It was collected: its pid may have a new owner. */
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
  /** Also what keeps the program alive while a child runs: a signal listener does not. */
  #sweep: Timer | undefined;
  /** Undefined where orphans go elsewhere. */
  #orphans: AdoptedOrphans | undefined;
  #strangers: Timer | undefined;

  constructor(libc: Libc, clock: Clock) {
    this.#libc = libc;
    this.#clock = clock;
    // One listener per server in this program is meant, so Node's warning of a leak must count them in.
    process.setMaxListeners(process.getMaxListeners() + 1);
    process.on('SIGCHLD', this.#collect);
  }

  /** From now on orphans come to this program, and are collected. */
  adopt(orphans: AdoptedOrphans): void {
    this.#orphans = orphans;
  }

  /** Whether this is a child that is being watched: it keeps its pid until it is collected here. */
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
      // By name, because a child that was collected elsewhere is in no peek. Those looked at go to the end, so that each has its turn.
      for (const [pid, ended] of [...this.#live].slice(0, sweepCount)) {
        this.#live.delete(pid);
        this.#live.set(pid, ended);
        this.#reap(pid);
      }
      if (this.#live.size > 0) this.#armSweep();
    });
  }

  #collectExited(): void {
    if (this.#isCollecting) return; // a slice of it is under way
    this.#isCollecting = true;
    const isOver = this.#collectSlice();
    this.#isCollecting = !isOver;
    if (!isOver) {
      setImmediate(() => {
        this.#isCollecting = false;
        this.#collectExited();
      });
    } else if (this.#live.size === 0) {
      this.#sweep?.cancel();
      this.#sweep = undefined;
    }
  }

  /** Peeks at any exited child, which costs the same for one live child and for a thousand, and collects it when it is ours. False when there is more to do. */
  #collectSlice(): boolean {
    for (const endsAt = performance.now() + sliceMs; performance.now() < endsAt;) {
      this.#info.fill(0);
      if (this.#libc.waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT) !== 0) return true;
      const pid = this.#info.readInt32LE(pidOffset);
      if (pid === 0) return true;
      if (this.#live.has(pid)) this.#reap(pid);
      else if (this.#orphans?.isOurs(pid) === true) this.#collectOrphan(pid);
      else {
        // A child of other code in this program hides ours from the peek until that code collects it.
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
   * An orphan that changed its limits cannot be told from a child of other code in this program. One that is still not collected a
   * sweep later has no other owner: Node collects its own children within a turn of the event loop.
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
      return []; // out of descriptors: the next sweep makes up for it
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
    // Anything but our pid means that somebody else collected it: how it ended will never be known.
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

  /** Until its exec a child shares our memory, so the kernel's figure is never below ours: only one above it tells about the child. */
  #isAboveOwn(maxRssKib: number): boolean {
    if (maxRssKib > this.#ownMaxRssKib) this.#ownMaxRssKib = process.resourceUsage().maxRSS; // it only grows, and asking is dear
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
