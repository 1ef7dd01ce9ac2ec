// A look at every process of the machine: /proc where there is one, ps elsewhere. Facts only, no judgement about who belongs to whom.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { errnoOf } from './spawn-failure.js';

export interface ProcEntry {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  /** Undefined where the platform does not tell. */
  readonly session: number | undefined;
  /** With the pid, names one process for all time: what the platform says about when it started. */
  readonly born: string;
  readonly isZombie: boolean;
}

/** The processes of one moment. */
export class ProcTable {
  readonly entries: readonly ProcEntry[];
  readonly #lineages = new Map<number, string | undefined>();
  readonly #vanished = new Set<number>();

  constructor(entries: readonly ProcEntry[]) {
    this.entries = entries;
  }

  /** Those that were gone when their lineage was asked for. They may have left a child that is not in this table. */
  get vanished(): ReadonlySet<number> {
    return this.#vanished;
  }

  has(pid: number): boolean {
    return this.entries.some((entry) => entry.pid === pid);
  }

  /** The process's real-time limit, which Sluice uses as a mark that all descendants inherit: see linux/lineage.ts. */
  lineageOf(pid: number): string | undefined {
    if (!this.#lineages.has(pid)) {
      const limits = readProcFile(`/proc/${pid}/limits`);
      this.#lineages.set(pid, limits === undefined ? undefined : /^Max realtime timeout +(\d+) /m.exec(limits)?.[1]);
      if (limits === undefined && !existsSync(`/proc/${pid}`)) this.#vanished.add(pid);
    }
    return this.#lineages.get(pid);
  }
}

export async function readProcTable(): Promise<ProcTable> {
  if (!existsSync('/proc/self/stat')) return new ProcTable(await readPsEntries());
  const entries: ProcEntry[] = [];
  visitLinuxEntries((entry) => entries.push(entry));
  return new ProcTable(entries);
}

/** Reads the table once per turn of the event loop, however many trees are being ended in it. */
export class ProcTableReader {
  #current: Promise<ProcTable> | undefined;
  /** Read in this very step of the program: nobody can have been born since. */
  #isNew = false;

  /** May be as old as the turn: much can happen in the world between two callbacks of one turn. */
  read(): Promise<ProcTable> {
    if (this.#current === undefined) {
      this.#current = readProcTable();
      this.#isNew = true;
      queueMicrotask(() => (this.#isNew = false));
      setImmediate(() => (this.#current = undefined));
    }
    return this.#current;
  }

  /** Knows everybody who was there when this was called. Whoever asks in the same step gets the same one. */
  readNew(): Promise<ProcTable> {
    if (!this.#isNew) this.expire();
    return this.read();
  }

  /** What was read so far is out of date; the next read is a new one. */
  expire(): void {
    this.#current = undefined;
  }
}

/** Passes over /proc at most: on a machine where somebody is born during each of them, one more proves nothing new. */
const mostPasses = 20;

/**
 * Calls `found` with every process at the moment it is seen, about 15 µs each, and looks again until nobody new is there. One pass would
 * miss a process that is born while it lasts, and with it a program that goes on as its own child again and again.
 */
export function visitLinuxEntries(found: (entry: ProcEntry) => void): void {
  const seen = new Set<string>();
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const unseen = readdirSync('/proc').filter((name) => isNumeral(name) && !seen.has(name));
    if (unseen.length === 0) return;
    for (const name of unseen) {
      seen.add(name);
      const entry = readLinuxEntry(Number(name));
      if (entry !== undefined) found(entry);
    }
  }
}

/** The first character tells: nothing else in /proc begins with a digit. */
function isNumeral(name: string): boolean {
  return name >= '0' && name < ':';
}

function readLinuxEntry(pid: number): ProcEntry | undefined {
  const stat = readProcFile(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name is in parentheses and may itself contain parentheses and spaces.
  const [state, ppid, pgid, session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const born = rest[15]; // field 22, starttime, in clock ticks since boot
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    session: Number(session),
    born: born ?? '',
    isZombie: state === 'Z' || state === 'X',
  };
}

/**
 * The file's text, or undefined when its process has gone. As UTF-8, which Node reads in one go, at half the cost of any other
 * text: only the name of a program may be something else, and nobody looks at it.
 */
function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOENT' || errno === 'ESRCH' || errno === 'EACCES') return undefined;
    throw error;
  }
}

/** A ps that hangs must not keep a tree from being ended: the look counts as failed, and the group is signalled without it. */
const psPatienceMs = 2_000;

/** Room for the list of a machine with tens of thousands of processes. */
const psOutputBytes = 16 * 1024 * 1024;

async function readPsEntries(): Promise<ProcEntry[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const options = { timeout: psPatienceMs, maxBuffer: psOutputBytes, env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' } };
    execFile('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(new Error('ps does not list the processes', { cause: error })),
    );
  });
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (match === null) return [];
    const [, pid, ppid, pgid, state, born] = match;
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      pgid: Number(pgid),
      session: undefined,
      born: born ?? '',
      isZombie: state?.startsWith('Z') ?? false,
    };
  });
}
