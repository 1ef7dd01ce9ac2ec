// A look at every process of the machine: /proc where there is one, ps elsewhere. It costs what the machine runs, so it is only taken where
// a tree cannot be followed.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { type ProcEntry, readLinuxEntry } from './proc-files.js';
import { Slices } from './slices.js';

/** Most of a turn of the event loop that looking at the machine may take, in milliseconds. */
const sliceMs = 1;

/** The processes of one moment, and who is related to whom. */
export class ProcTable {
  readonly entries: readonly ProcEntry[];
  readonly #byPid = new Map<number, ProcEntry>();
  readonly #byParent = new Map<number, ProcEntry[]>();
  readonly #byGroup = new Map<number, ProcEntry[]>();
  readonly #bySession = new Map<number, ProcEntry[]>();

  constructor(entries: readonly ProcEntry[]) {
    this.entries = entries;
    for (const entry of entries) {
      this.#byPid.set(entry.pid, entry);
      addTo(this.#byParent, entry.ppid, entry);
      addTo(this.#byGroup, entry.pgid, entry);
      if (entry.session !== undefined) addTo(this.#bySession, entry.session, entry);
    }
  }

  get(pid: number): ProcEntry | undefined {
    return this.#byPid.get(pid);
  }

  childrenOf(pid: number): readonly ProcEntry[] {
    return this.#byParent.get(pid) ?? [];
  }

  inGroup(pgid: number): readonly ProcEntry[] {
    return this.#byGroup.get(pgid) ?? [];
  }

  inSession(session: number): readonly ProcEntry[] {
    return this.#bySession.get(session) ?? [];
  }
}

/** One more value under this key. */
export function addTo<Key, Value>(index: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, [value]);
  else values.push(value);
}

/** `seen` is called with each process of /proc at the moment it is seen; never where there is only ps. */
export async function readProcTable(seen: (entry: ProcEntry) => void = () => {}): Promise<ProcTable> {
  const hasProc = existsSync('/proc/self/stat');
  return new ProcTable(hasProc ? await new Slices(sliceMs).run(linuxEntries(seen)) : await readPsEntries());
}

/** Passes over /proc at most: on a machine where processes are born during each of them, one more proves nothing new. */
const mostPasses = 20;

/** Lists /proc again until a list holds nothing new: one pass would miss a process that is born while it lasts. */
function* linuxEntries(seen: (entry: ProcEntry) => void): Generator<void, ProcEntry[]> {
  const entries: ProcEntry[] = [];
  const listed = new Set<string>();
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const unlisted = readdirSync('/proc').filter((name) => isNumeral(name) && !listed.has(name));
    if (unlisted.length === 0) break;
    for (const name of unlisted) {
      listed.add(name);
      const entry = readLinuxEntry(Number(name));
      if (entry !== undefined) {
        entries.push(entry);
        seen(entry);
      }
      yield;
    }
  }
  return entries;
}

/** The first character tells: nothing else in /proc begins with a digit. */
function isNumeral(name: string): boolean {
  return name >= '0' && name < ':';
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
