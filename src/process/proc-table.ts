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

  constructor(entries: readonly ProcEntry[]) {
    this.entries = entries;
  }

  has(pid: number): boolean {
    return this.entries.some((entry) => entry.pid === pid);
  }

  /** The process's real-time limit, which Sluice uses as a mark that all descendants inherit: see linux/lineage.ts. */
  lineageOf(pid: number): string | undefined {
    if (!this.#lineages.has(pid)) {
      const limits = readProcFile(`/proc/${pid}/limits`);
      this.#lineages.set(pid, limits === undefined ? undefined : /^Max realtime timeout +(\d+) /m.exec(limits)?.[1]);
    }
    return this.#lineages.get(pid);
  }
}

export async function readProcTable(): Promise<ProcTable> {
  return new ProcTable(existsSync('/proc/self/stat') ? readLinuxEntries() : await readPsEntries());
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

/** Synchronous and complete: one pass over /proc, about 15 µs a process. */
function readLinuxEntries(): ProcEntry[] {
  const entries: ProcEntry[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = readLinuxEntry(pid);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
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
