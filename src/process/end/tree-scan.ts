// Finds trees by looking at the whole machine: the portable backend's way, and that of kernels which do not list a process's children.
// One look serves every tree that asks for it meanwhile.

import { readLineage } from './proc-files.js';
import type { ProcEntry } from './proc-files.js';
import { type ProcTable, addTo, readProcTable } from './proc-table.js';
import { type Found, type Freshness, type Kin, type TreeFinder, signalPid } from './process-tree.js';

/** First digits of every mark that this program makes, and which processes can carry one. */
export interface Marks {
  readonly prefix: string;
  /** Older processes need not be asked. */
  isTooOld(entry: ProcEntry): boolean;
  /** False for a child of this program that another of its threads started in the instant of a spawn: it carries a mark by mistake. */
  mayCarry(entry: ProcEntry): boolean;
}

interface Scan {
  readonly table: ProcTable;
  /** Who carries which mark of ours. */
  readonly marked: ReadonlyMap<string, readonly ProcEntry[]>;
  /** Marks of processes that vanished before they could be asked for their own: their parents carry these. */
  readonly missed: ReadonlySet<string>;
  /** A process vanished of which nothing else is known. */
  readonly hasUnknown: boolean;
}

export class TreeScan implements TreeFinder {
  readonly #marks: Marks | undefined;
  readonly #readTable: typeof readProcTable;
  #current: Promise<Scan> | undefined;
  /** Begun in this very step of the program: nothing can have been born since. */
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
    // A set is iterated in the order of insertion, what is added meanwhile included.
    for (const member of members) for (const child of scan.table.childrenOf(member.pid)) members.add(child);
    const living = [...members].filter(({ isZombie }) => !isZombie);
    // A process that vanished unjudged may have been a member and have left a child. Strangers vanish all the time, so that counts only for a
    // tree that had members a moment ago: for others the look before this one has proven as much.
    const mayHaveMissed = (kin.mark !== undefined && scan.missed.has(kin.mark)) || (scan.hasUnknown && kin.known.size > 0);
    return { members: living, isCertain: !mayHaveMissed, isPidReused };
  }

  chase({ mark }: Kin): void {
    if (mark === undefined) return; // without marks no process can be judged alone
    const kill = (entry: ProcEntry) =>
      void (!entry.isZombie && readLineage(entry.pid) === mark && signalPid(entry.pid, 'SIGKILL'));
    void this.#readTable(kill).catch(() => {}); // out of descriptors: the next look makes up for it
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
        else if (lineages.has(parent)) hasUnknown = true; // and otherwise older than this program, so that it carries no mark of ours
      }
    }
    return { table, marked, missed, hasUnknown };
  }
}

/** Members that are known as such by themselves; the others descend from them. */
function seedsOf(kin: Kin, { table, marked }: Scan, isPidReused: boolean): ProcEntry[] {
  const seen = [...kin.known].flatMap(([pid, born]) => {
    const entry = table.get(pid);
    return entry?.born === born ? [entry] : [];
  });
  const carriers = kin.mark === undefined ? [] : (marked.get(kin.mark) ?? []);
  if (isPidReused) return [...seen, ...carriers];
  // A process in the leader's group or session got there through the leader.
  const leader = table.get(kin.pid);
  return [
    ...(leader === undefined ? [] : [leader]),
    ...seen,
    ...carriers,
    ...table.inGroup(kin.pid),
    ...table.inSession(kin.pid),
  ];
}

/** Where orphans can go: this program's parents, up to init. */
function ancestorsIn(table: ProcTable): ReadonlySet<ProcEntry> {
  const ancestors = new Set<ProcEntry>();
  for (let entry = table.get(process.pid); entry !== undefined && !ancestors.has(entry); entry = table.get(entry.ppid)) {
    ancestors.add(entry);
  }
  return ancestors;
}
