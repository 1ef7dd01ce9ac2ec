// Finds trees by scanning the whole machine: used by the portable backend, and on kernels that do not list a process's children.
// One scan serves every tree that asks for one while it runs.

import { readLineage } from './proc-files.js';
import type { ProcEntry } from './proc-files.js';
import { type ProcTable, addTo, readProcTable } from './proc-table.js';
import { type Found, type Freshness, type Kin, type TreeFinder, signalPid } from './process-tree.js';

/** The marks of this program, and which processes can carry one. */
export interface Marks {
  /** First digits of every mark that this program creates. */
  readonly prefix: string;
  /** True for a process that is older than the first mark and so need not be checked. */
  isTooOld(entry: ProcEntry): boolean;
  /** False for a child of this program that another of its threads started during a spawn, which gave it the mark by accident. */
  mayCarry(entry: ProcEntry): boolean;
}

interface Scan {
  readonly table: ProcTable;
  /** The processes that carry each of our marks. */
  readonly marked: ReadonlyMap<string, readonly ProcEntry[]>;
  /** Marks of the parents of processes that ended before their own mark could be read. */
  readonly missed: ReadonlySet<string>;
  /** A process ended before its mark or its parent's could be read. */
  readonly hasUnknown: boolean;
}

export class TreeScan implements TreeFinder {
  readonly #marks: Marks | undefined;
  readonly #readTable: typeof readProcTable;
  #current: Promise<Scan> | undefined;
  /** The scan began in this very tick, so no process can have started since. */
  #isNew = false;

  constructor({ marks, readTable = readProcTable }: { marks?: Marks; readTable?: typeof readProcTable } = {}) {
    this.#marks = marks;
    this.#readTable = readTable;
  }

  async find(kin: Kin, freshness: Freshness): Promise<Found> {
    if (freshness === 'new' && !this.#isNew) this.expire();
    const scan = await this.#read();
    const isPidReused = kin.isLeaderReaped && scan.table.get(kin.pid) !== undefined;
    const members = new Set(seedsOf(kin, scan, isPidReused));
    // A set is iterated in insertion order, including elements that are added during the iteration.
    for (const member of members) for (const child of scan.table.childrenOf(member.pid)) members.add(child);
    const living = [...members].filter(({ isZombie }) => !isZombie);
    // A process that ended before it was checked may have been a member and have left a child. Unrelated processes end all the time, so
    // this counts only for a tree that had members a moment ago: for others, the previous look has already ruled it out.
    const mayHaveMissed = (kin.mark !== undefined && scan.missed.has(kin.mark)) || (scan.hasUnknown && kin.known.size > 0);
    return { members: living, isCertain: !mayHaveMissed, isPidReused };
  }

  chase({ mark }: Kin): void {
    if (mark === undefined) return; // without marks, a single process cannot be attributed to a tree
    const kill = (entry: ProcEntry) =>
      void (!entry.isZombie && readLineage(entry.pid) === mark && signalPid(entry.pid, 'SIGKILL'));
    void this.#readTable(kill).catch(() => {}); // out of descriptors: the next look will find the rest
  }

  expire(): void {
    this.#current = undefined;
  }

  isAnyLeft(): boolean {
    return true;
  }

  #read(): Promise<Scan> {
    if (this.#current === undefined) {
      const current = this.#scan();
      this.#current = current;
      this.#isNew = true;
      queueMicrotask(() => (this.#isNew = false));
      const forget = () => setImmediate(() => this.#current === current && this.expire());
      current.then(forget, forget);
    }
    return this.#current;
  }

  async #scan(): Promise<Scan> {
    const lineages = new Map<ProcEntry, string | undefined>();
    const marks = this.#marks;
    const seen = (entry: ProcEntry) => void (marks?.isTooOld(entry) === false && lineages.set(entry, readLineage(entry.pid)));
    const table = await this.#readTable(marks === undefined ? undefined : seen);
    const marked = new Map<string, ProcEntry[]>();
    const missed = new Set<string>();
    let hasUnknown = false;
    const adopters = ancestorsIn(table);
    for (const [entry, lineage] of lineages) {
      if (lineage !== undefined) {
        if (marks?.mayCarry(entry) === true && lineage.startsWith(marks.prefix)) addTo(marked, lineage, entry);
        continue;
      }
      const parent = table.get(entry.ppid);
      if (parent === undefined || adopters.has(parent)) hasUnknown = true;
      else {
        const parentsLineage = lineages.get(parent);
        if (parentsLineage !== undefined) missed.add(parentsLineage);
        else if (lineages.has(parent)) hasUnknown = true; // otherwise the parent is older than this program and carries no mark of ours
      }
    }
    return { table, marked, missed, hasUnknown };
  }
}

/** Members that are recognised directly; all others descend from them. */
function seedsOf(kin: Kin, { table, marked }: Scan, isPidReused: boolean): ProcEntry[] {
  const seen = [...kin.known].flatMap(([pid, born]) => {
    const entry = table.get(pid);
    return entry?.born === born ? [entry] : [];
  });
  const carriers = kin.mark === undefined ? [] : (marked.get(kin.mark) ?? []);
  if (isPidReused) return [...seen, ...carriers];
  // Only descendants of the leader can be in its group or session.
  const leader = table.get(kin.pid);
  return [
    ...(leader === undefined ? [] : [leader]),
    ...seen,
    ...carriers,
    ...table.inGroup(kin.pid),
    ...table.inSession(kin.pid),
  ];
}

/** The processes that can adopt orphans: this program and its ancestors, up to init. */
function ancestorsIn(table: ProcTable): ReadonlySet<ProcEntry> {
  const ancestors = new Set<ProcEntry>();
  for (let entry = table.get(process.pid); entry !== undefined && !ancestors.has(entry); entry = table.get(entry.ppid)) {
    ancestors.add(entry);
  }
  return ancestors;
}
