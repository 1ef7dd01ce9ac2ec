// Where processes go that lose their parents: to this program when it adopts them (PR_SET_CHILD_SUBREAPER, or init itself), otherwise to
// one of its own ancestors. Looking there costs what these have as children, not what the machine runs.

import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcEntry, childrenOf, childrenOfThread, readLineage, readLinuxEntry } from '../end/proc-files.js';
import { addTo } from '../end/proc-table.js';
import type { Freshness } from '../end/process-tree.js';
import type { Slices } from '../end/slices.js';

/** Living processes that may be orphans of ours, at one moment. */
export interface OrphanLook {
  /** By the mark they carry. */
  readonly marked: ReadonlyMap<string, readonly number[]>;
  /** Adopted by this program without a mark of ours: its own other children, and descendants that changed their limits. */
  readonly unmarked: readonly ProcEntry[];
  /** False when one may have been missed. */
  readonly isCertain: boolean;
}

export interface OrphanOptions {
  /** Whether orphans come to this program. */
  readonly adopts: boolean;
  /** First digits of every mark that this program makes. */
  readonly prefix: string;
  /** Whether an unreaped child of this program was started by Sluice: it is not an orphan. */
  readonly isStarted: (pid: number) => boolean;
  readonly sessionOf: (pid: number) => number;
  /** Older processes carry no mark of ours. */
  readonly isTooOld: (entry: ProcEntry) => boolean;
  readonly slices: Pick<Slices, 'run'>;
}

/**
 * After a list of thousands of children, which takes a millisecond or two to read, the next look waits some twenty times as long: listing
 * must not be all that is done. The rest follows the number of children, not the time taken, which on a busy machine says little.
 */
const longList = 3_000;
const restMsPerChild = 0.01;
const longestRestMs = 50;

/** Lists read for one look at most: where processes come and go during each of them, one more proves nothing new. */
const mostPasses = 20;

export class Orphans {
  readonly #options: OrphanOptions;
  /** Marks of adopted children. They keep their pids until this program collects them, so a pid names one process here. */
  readonly #adopted = new Map<number, string>();
  #current: Promise<OrphanLook> | undefined;
  /** Begun in this very step of the program: nothing can have been born since. */
  #isNew = false;
  /** A look that has not begun yet: it serves everything that asks until then. */
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

  /** Whether this exited child of ours is an orphan from one of our trees: it is in the session of an unreaped leader, or carries a mark. */
  isOurs(pid: number): boolean {
    const { isStarted, sessionOf } = this.#options;
    try {
      return isStarted(sessionOf(pid)) || this.markOf(pid) !== undefined;
    } catch {
      return false; // out of descriptors: a later sweep collects it
    }
  }

  /** This adopted child was collected: its pid may have a new owner. */
  collected(pid: number): void {
    this.#adopted.delete(pid);
  }

  /** Pids of possible orphans, as of now. */
  list(): number[] {
    const { adopts, isStarted } = this.#options;
    // The kernel gives orphans to the first thread. Only this program collects its own children, so nothing is missing in this list.
    const pids = adopts ? childrenOfThread(process.pid, process.pid) : ancestors().flatMap((ancestor) => childrenOf(ancestor));
    if (pids.length >= longList) this.#notBefore = performance.now() + Math.min(restMsPerChild * pids.length, longestRestMs);
    return adopts ? pids.filter((pid) => !isStarted(pid)) : pids;
  }

  /**
   * Lists until a list holds nothing new. A process that dies while it is judged has given its children away after the list was read;
   * when all that were listed have been judged, the next list holds what they left.
   */
  *#looking(): Generator<void, OrphanLook> {
    const marked = new Map<string, number[]>();
    const unmarked: ProcEntry[] = [];
    const judged = new Set<number>();
    for (let pass = 0; pass < mostPasses; pass += 1) {
      const unjudged = this.list().filter((pid) => !judged.has(pid));
      if (unjudged.length === 0 && (pass > 0 || this.#options.adopts)) return { marked, unmarked, isCertain: true };
      let isStill = this.#options.adopts;
      for (const pid of unjudged) {
        judged.add(pid);
        const entry = readLinuxEntry(pid);
        const mark = entry === undefined || entry.isZombie || !this.#mayCarry(entry) ? undefined : this.markOf(pid);
        if (mark !== undefined) addTo(marked, mark, pid);
        else if (entry?.isZombie === false) unmarked.push(entry);
        else isStill = false;
        yield;
      }
      if (isStill) return { marked, unmarked, isCertain: true };
    }
    return { marked, unmarked, isCertain: false };
  }

  /** A marked child of a program that adopts none was started by another thread in the instant of a spawn, and is not ours to end. */
  #mayCarry(entry: ProcEntry): boolean {
    return !this.#options.isTooOld(entry) && (this.#options.adopts || entry.ppid !== process.pid);
  }
}

/** This program's parents, up to init. */
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

/** Deeper nests of parents are not known. */
const mostAncestors = 100;
