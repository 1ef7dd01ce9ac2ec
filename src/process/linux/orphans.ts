// Finds orphans: the kernel gives them to this program if it adopts them (PR_SET_CHILD_SUBREAPER, or as init), otherwise to one of its
// ancestors. The cost grows with the number of children there, not with the number of processes on the machine.

import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcEntry, childrenOf, childrenOfThread, readLineage, readLinuxEntry } from '../end/proc-files.js';
import { addTo } from '../end/proc-table.js';
import type { Freshness } from '../end/process-tree.js';
import type { Slices } from '../end/slices.js';

/** Live processes that may be orphans of ours, at one moment. */
export interface OrphanLook {
  /** Pids by the mark that the processes carry. */
  readonly marked: ReadonlyMap<string, readonly number[]>;
  /** Children of this program without a mark of ours: children of other code, and adopted descendants that changed their limits. */
  readonly unmarked: readonly ProcEntry[];
  /** False when an orphan may have been missed. */
  readonly isCertain: boolean;
}

export interface OrphanOptions {
  /** Whether this program adopts orphans. */
  readonly adopts: boolean;
  /** First digits of every mark that this program creates. */
  readonly prefix: string;
  /** Whether an unreaped child of this program was started by Sluice, and so is not an orphan. */
  readonly isStarted: (pid: number) => boolean;
  readonly sessionOf: (pid: number) => number;
  /** Whether a process is too old to carry a mark of ours. */
  readonly isTooOld: (entry: ProcEntry) => boolean;
  readonly slices: Pick<Slices, 'run'>;
}

/**
 * Reading a list of thousands of children takes a millisecond or two. The next look then waits some twenty times as long, so that listing
 * does not take all the time. The pause depends on the number of children, since the time taken says little on a busy machine.
 */
const longList = 3_000;
const restMsPerChild = 0.01;
const longestRestMs = 50;

/** Most lists read for one look: where processes start and end during each of them, another list proves nothing new. */
const mostPasses = 20;

export class Orphans {
  readonly #options: OrphanOptions;
  /** Marks of adopted children. They keep their pids until this program reaps them, so a pid identifies one process here. */
  readonly #adopted = new Map<number, string>();
  #current: Promise<OrphanLook> | undefined;
  /** The look began in this very tick, so no process can have started since. */
  #isNew = false;
  /** A look that has not begun yet; it serves every caller until it does. */
  #next: Promise<OrphanLook> | undefined;
  #notBefore = 0;

  constructor(options: OrphanOptions) {
    this.#options = options;
  }

  look(freshness: Freshness): Promise<OrphanLook> {
    if (this.#next !== undefined) return this.#next;
    if (freshness === 'new' && !this.#isNew) this.expire();
    if (this.#current !== undefined) return this.#current;
    const waitMs = this.#notBefore - performance.now();
    if (waitMs < 1) return this.#begin();
    this.#next = sleep(waitMs).then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<OrphanLook> {
    const current = this.#options.slices.run(this.#looking());
    this.#current = current;
    this.#isNew = true;
    queueMicrotask(() => (this.#isNew = false));
    const forget = () => setImmediate(() => this.#current === current && this.expire());
    current.then(forget, forget);
    return current;
  }

  expire(): void {
    this.#current = undefined;
  }

  /** The mark of ours that a listed process carries, if any. */
  markOf(pid: number): string | undefined {
    const known = this.#adopted.get(pid);
    if (known !== undefined) return known;
    const lineage = readLineage(pid);
    if (lineage?.startsWith(this.#options.prefix) !== true) return undefined;
    if (this.#options.adopts) this.#adopted.set(pid, lineage);
    return lineage;
  }

  /** Whether this exited child is an orphan from one of our trees: it is in the session of an unreaped leader, or carries a mark. */
  isOurs(pid: number): boolean {
    const { isStarted, sessionOf } = this.#options;
    try {
      return isStarted(sessionOf(pid)) || this.markOf(pid) !== undefined;
    } catch {
      return false; // out of descriptors: a later sweep reaps it
    }
  }

  /** This adopted child has been reaped: its pid may now belong to another process. */
  collected(pid: number): void {
    this.#adopted.delete(pid);
  }

  /** Pids of possible orphans, as of now. */
  list(): number[] {
    const { adopts, isStarted } = this.#options;
    // The kernel gives orphans to the first thread. Only this program reaps its own children, so the list is complete.
    const pids = adopts ? childrenOfThread(process.pid, process.pid) : ancestors().flatMap((ancestor) => childrenOf(ancestor));
    if (pids.length >= longList) this.#notBefore = performance.now() + Math.min(restMsPerChild * pids.length, longestRestMs);
    return adopts ? pids.filter((pid) => !isStarted(pid)) : pids;
  }

  /**
   * Reads the list until it holds nothing new. The children of a process that dies while it is checked are reparented after the list was
   * read; once all listed processes have been checked, the next list contains those children.
   */
  *#looking(): Generator<void, OrphanLook> {
    const marked = new Map<string, number[]>();
    const unmarked: ProcEntry[] = [];
    const checked = new Set<number>();
    for (let pass = 0; pass < mostPasses; pass += 1) {
      const unchecked = this.list().filter((pid) => !checked.has(pid));
      if (unchecked.length === 0 && (pass > 0 || this.#options.adopts)) return { marked, unmarked, isCertain: true };
      let isStable = this.#options.adopts;
      for (const pid of unchecked) {
        checked.add(pid);
        const entry = readLinuxEntry(pid);
        const mark = entry === undefined || entry.isZombie || !this.#mayCarry(entry) ? undefined : this.markOf(pid);
        if (mark !== undefined) addTo(marked, mark, pid);
        else if (entry?.isZombie === false) unmarked.push(entry);
        else isStable = false;
        yield;
      }
      if (isStable) return { marked, unmarked, isCertain: true };
    }
    return { marked, unmarked, isCertain: false };
  }

  /** If this program adopts no orphans, a marked child of it was started by another thread during a spawn, and must not be ended. */
  #mayCarry(entry: ProcEntry): boolean {
    return !this.#options.isTooOld(entry) && (this.#options.adopts || entry.ppid !== process.pid);
  }
}

/** This program's ancestors, up to init. */
function ancestors(): ProcEntry[] {
  const found: ProcEntry[] = [];
  for (let pid = process.ppid; pid > 0;) {
    const entry = readLinuxEntry(pid);
    if (entry === undefined || found.length === mostAncestors) break;
    found.push(entry);
    pid = entry.ppid;
  }
  return found;
}

/** Far deeper than any known nesting of processes. */
const mostAncestors = 100;
