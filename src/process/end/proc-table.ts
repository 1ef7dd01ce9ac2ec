// Lists every process of the machine: from /proc where it exists, from ps elsewhere. The cost grows with the number of processes on the
// machine, so this is used only where a tree cannot be followed.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { type ProcEntry, readLinuxEntry } from './proc-files.js';
import { Slices } from './slices.js';

/** Longest that listing may block the event loop in one turn, in milliseconds. */
const sliceMs = 1;

/** All processes at one moment, indexed by their relations. */
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

/** Adds a value to the list under this key. */
export function addTo<Key, Value>(index: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, [value]);
  else values.push(value);
}

/** `seen` is called with each process of /proc the moment it is read, and never when ps is used. */
export async function readProcTable(seen: (entry: ProcEntry) => void = () => {}): Promise<ProcTable> {
  const hasProc = existsSync('/proc/self/stat');
  return new ProcTable(hasProc ? await new Slices(sliceMs).run(linuxEntries(seen)) : await readPsEntries());
}

/** Most passes over /proc: where processes start during each of them, another pass proves nothing new. */
const mostPasses = 20;

/** Lists /proc until a pass finds nothing new: a single pass would miss a process that starts while it runs. */
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

/** Checking the first character is enough: only the names of process folders in /proc begin with a digit. */
function isNumeral(name: string): boolean {
  return name >= '0' && name < ':';
}

/** A hanging ps must not keep a tree from being ended: after this, the look counts as failed, and the group is signalled without it. */
const psTimeoutMs = 2_000;

/** Room for the list of a machine with tens of thousands of processes. */
const psOutputBytes = 16 * 1024 * 1024;

async function readPsEntries(): Promise<ProcEntry[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const options = { timeout: psTimeoutMs, maxBuffer: psOutputBytes, env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' } };
    execFile('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(new Error('ps failed to list the processes', { cause: error })),
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
