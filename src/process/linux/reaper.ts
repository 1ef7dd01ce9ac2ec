// Collects the exit status of our children and of nobody else's: the program we live in may have children of its own.

import type { Clock, Timer } from '../../base/clock.js';
import type { WaitStatus } from '../child.js';
import { readProcTable } from '../proc-table.js';
import { signalName } from '../signals.js';
import type { Libc } from './libc.js';

const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x01000000;
const P_ALL = 0;

/** Where siginfo_t has the pid of the child. */
const pidOffset = 16;

/** SIGCHLD announces every exit; this look catches one that somebody else's signal handling swallowed, or collected for itself. */
const sweepMs = 1_000;

export class Reaper {
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #live = new Map<number, (status: WaitStatus) => void>();
  readonly #info = Buffer.alloc(128);
  readonly #usage = Buffer.alloc(256);
  readonly #status = new Int32Array(1);
  #ownMaxRssKib = 0;
  readonly #collect = () => this.#collectExited();
  /** Also what keeps the program alive while a child runs: a signal listener does not. */
  #sweep: Timer | undefined;
  #adoption: Timer | undefined;

  constructor(libc: Libc, clock: Clock) {
    this.#libc = libc;
    this.#clock = clock;
    // One listener per server in this program is meant, so Node's warning of a leak must count them in.
    process.setMaxListeners(process.getMaxListeners() + 1);
    process.on('SIGCHLD', this.#collect);
    if (process.pid === 1) this.#adoptOrphans(new Set());
  }

  /** `ended` is called once, never before this returns. */
  watch(pid: number, ended: (status: WaitStatus) => void): void {
    this.#live.set(pid, ended);
    if (this.#sweep === undefined) this.#armSweep();
  }

  close(): void {
    process.off('SIGCHLD', this.#collect);
    process.setMaxListeners(process.getMaxListeners() - 1);
    this.#sweep?.cancel();
    this.#adoption?.cancel();
    this.#adoption = undefined;
  }

  #armSweep(): void {
    this.#sweep = this.#clock.after(sweepMs, () => {
      this.#sweep = undefined;
      this.#reapAll(); // by name, because a child that was collected elsewhere is in no peek
      if (this.#live.size > 0) this.#armSweep();
    });
  }

  /** Peeks at any exited child, which costs the same for one live child and for a thousand, and collects it when it is ours. */
  #collectExited(): void {
    for (;;) {
      this.#info.fill(0);
      if (this.#libc.waitid(P_ALL, 0, this.#info, WEXITED | WNOHANG | WNOWAIT) !== 0) break;
      const pid = this.#info.readInt32LE(pidOffset);
      if (pid === 0) break;
      if (this.#live.has(pid)) this.#reap(pid);
      else {
        // Somebody else's child hides ours from the peek until its owner collects it.
        this.#reapAll();
        break;
      }
    }
    if (this.#live.size > 0 || this.#sweep === undefined) return;
    this.#sweep.cancel();
    this.#sweep = undefined;
  }

  /**
   * Where this program is init, as in a container, orphans are its to collect. One that is still there a sweep later
   * has no other owner: Node collects its own children within a turn of the event loop.
   */
  #adoptOrphans(seen: ReadonlySet<number>): void {
    this.#adoption = this.#clock.afterIdle(sweepMs, () => {
      const table = readProcTable().catch(() => undefined); // out of descriptors: the next look makes up for it
      void table.then((read) => {
        const orphans = read?.entries.filter(({ pid, ppid, isZombie }) => isZombie && ppid === 1 && !this.#live.has(pid)) ?? [];
        for (const { pid } of orphans) if (seen.has(pid)) this.#libc.wait4(pid, this.#status, WNOHANG, this.#usage);
        if (this.#adoption !== undefined) this.#adoptOrphans(new Set(orphans.map(({ pid }) => pid)));
      });
    });
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
