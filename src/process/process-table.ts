// One session's processes: start, find, list, forget. The table owns them: closing it ends every one.

import type { Clock, Timer } from '../base/clock.js';
import { type EndReason, type ProcessId, execError } from '../protocol/index.js';
import type { Backend, ProcessTree } from './child.js';
import { keepRequest } from './start/kept-request.js';
import { ManagedProcess } from './managed-process.js';
import type { ByteCounter, ProcessLimits, ProcessOptions } from './process-options.js';
import { Termination } from './end/termination.js';

export interface TableLimits extends ProcessLimits {
  /** Most processes that have not closed yet. */
  readonly maxProcesses: number;
  /** Most closed processes that are kept readable. */
  readonly maxClosed: number;
  /** Memory of all closed processes together: output, requests and bookkeeping. */
  readonly maxClosedBytes: number;
  /** Size of the requests of all processes that have not closed yet. Environments count only for restartable processes. */
  readonly maxRequestBytes: number;
  /** How long a closed process stays readable. */
  readonly keepClosedMs: number;
  /** Longest time between SIGTERM and SIGKILL for a process that is ended because its table closes. */
  readonly maxCloseGraceMs: number;
}

interface Context {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: TableLimits;
  readonly counter: ByteCounter;
}

/** Memory of a closed process besides its request and its log, in bytes: its objects, promises, timer and tree. */
const fixedBytes = 4 * 1024;

export interface MoveOptions {
  /** `ended` lets the moved process replace a closed one with the same id; when absent, the id must be free. */
  readonly replace?: 'ended' | undefined;
  /** How long it stays readable once closed, if shorter than the other table's limit. */
  readonly keepMs?: number | undefined;
}

/** A closed process that is still readable. */
interface Kept {
  readonly timer: Timer;
  /** Measured when it closed. Its log may evict more after its last reader has closed. */
  readonly bytes: number;
}

/** A start that may be a retry. */
export interface StartOnce {
  readonly id: ProcessId;
  /** The argv of a call that is retried because its answer may have been lost; undefined for a first call. */
  readonly retriedArgv: readonly string[] | undefined;
  /** The process that the first call may have started, when it is no longer in this table. */
  readonly kept?: ManagedProcess | undefined;
  /** Called only when a process has to be started. */
  readonly options: () => ProcessOptions;
}

export interface Started {
  readonly process: ManagedProcess;
  /** False for a process that an earlier call started. */
  readonly isNew: boolean;
}

interface OrphanTree {
  readonly tree: ProcessTree;
  readonly pid: number;
  readonly forceAfterMs: number;
}

/**
 * A closing table ends its first 128 processes at once and the rest in batches with a pause in between. Ending 5 000 then takes 5 s instead
 * of 3 s, but the 99th percentile of calls on other connections stays at 20 ms instead of 30.
 */
const endingsAtOnce = 128;
const endingsAtATime = 16;
const endingPauseMs = 14;

/** How many trees of forgotten processes accumulate before they are checked for live members. */
const orphanTreesPerLook = 64;

export class ProcessTable {
  readonly #context: Context;
  readonly #processes = new Map<ProcessId, ManagedProcess>();
  /** Closed processes, oldest first. */
  readonly #closed = new Map<ManagedProcess, Kept>();
  /** Processes that are kept for less than `keepClosedMs` once they have closed. */
  readonly #keepMs = new Map<ManagedProcess, number>();
  #isClosing = false;
  #closedBytes = 0;
  /** Size of the requests of processes that have not closed yet. */
  #requestBytes = 0;
  /** Trees of forgotten processes: a daemon that is left in one is ended with the table. */
  #orphanTrees: OrphanTree[] = [];

  constructor(context: Context) {
    this.#context = context;
  }

  start(options: ProcessOptions): ManagedProcess {
    const request = keepRequest(options, this.#context.limits);
    this.#requireRoomFor({ id: options.id, request });
    const started = new ManagedProcess(options, this.#context, request);
    this.#own(started);
    return started;
  }

  /** For a retry, returns the process that an earlier call with the same id and argv started; otherwise starts a new one. */
  startOnce({ id, retriedArgv, kept, options }: StartOnce): Started {
    const known = this.find(id);
    const earlier = known ?? kept;
    if (earlier !== undefined && retriedArgv !== undefined && earlier.isStartedBy(retriedArgv)) {
      return { process: earlier, isNew: false };
    }
    if (known !== undefined) throw execError('processExists', { processId: id });
    return { process: this.start(options()), isNew: true };
  }

  /**
   * Moves a process to another table, which owns it from then on. Returns whether a closed process with the same id was forgotten to make
   * room for it, which `replace` allows.
   */
  moveTo(other: ProcessTable, id: ProcessId, { replace, keepMs }: MoveOptions = {}): boolean {
    const moved = this.get(id);
    const known = replace === 'ended' ? other.find(id) : undefined;
    const replaced = known?.isClosed === true ? known : undefined;
    other.#requireRoomFor(moved, replaced);
    if (replaced !== undefined) other.#forget(replaced);
    this.#drop(moved);
    other.#own(moved, keepMs);
    return replaced !== undefined;
  }

  /**
   * Ends a process, unless it has closed, and starts the same command in its place. Throws `ExecError` notRestartable for one that was not
   * started as restartable, and spawnFailed when the command can no longer run; the ended process then stays in the table.
   */
  async restart(id: ProcessId, forceAfterMs: number | undefined): Promise<ManagedProcess> {
    const old = this.get(id);
    const { again } = old.request;
    if (again === undefined) throw execError('notRestartable', { processId: id });
    const keepMs = this.#keepMs.get(old); // read now: the process may be forgotten as soon as it closes
    if (!old.isClosed) old.terminate('terminated', forceAfterMs);
    await old.closed;
    this.#requireRoomFor(old, old);
    const started = new ManagedProcess(again, this.#context, old.request);
    if (this.find(id) === old) this.#forget(old);
    this.#own(started, keepMs);
    return started;
  }

  /** Forgets a closed process early. False when there is no such process; throws `ExecError` processNotClosed when it has not closed. */
  forget(id: ProcessId): boolean {
    const known = this.find(id);
    if (known === undefined) return false;
    if (!known.isClosed) throw execError('processNotClosed', { processId: id });
    this.#forget(known);
    return true;
  }

  find(id: ProcessId): ManagedProcess | undefined {
    return this.#processes.get(id);
  }

  get(id: ProcessId): ManagedProcess {
    const found = this.find(id);
    if (found === undefined) throw execError('processNotFound', { processId: id });
    return found;
  }

  /** Processes that have not closed yet. */
  get runningCount(): number {
    return this.#processes.size - this.#closed.size;
  }

  list(): ManagedProcess[] {
    return [...this.#processes.values()];
  }

  /** Ends everything that was started here, in parallel and each with its own grace, and waits until all of it is gone. */
  async close(reason: EndReason): Promise<void> {
    this.#isClosing = true;
    const { maxCloseGraceMs } = this.#context.limits;
    for (const each of this.list()) if (each.isClosed) this.#forgetKeepingTree(each);
    const running = this.list();
    for (const [index, each] of running.entries()) {
      if (index >= endingsAtOnce && index % endingsAtATime === 0) await this.#pause();
      each.terminate(reason, Math.min(each.forceAfterMs, maxCloseGraceMs));
    }
    await Promise.all([this.#endOrphanTrees(maxCloseGraceMs), ...running.map((each) => each.closed)]);
    for (const each of this.list()) this.#forgetKeepingTree(each);
    await this.#endOrphanTrees(0); // these have already had their grace
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => void this.#context.clock.after(endingPauseMs, resolve));
  }

  /** `replaced` may have the same id. */
  #requireRoomFor({ id, request }: Pick<ManagedProcess, 'id' | 'request'>, replaced?: ManagedProcess): void {
    if (this.#isClosing) throw execError('sessionClosed', { sessionId: '' });
    const known = this.#processes.get(id);
    if (known !== undefined && known !== replaced) throw execError('processExists', { processId: id });
    const { maxProcesses, maxRequestBytes } = this.#context.limits;
    if (this.runningCount >= maxProcesses) throw execError('tooManyProcesses', { limit: maxProcesses });
    const bytes = this.#requestBytes + request.bytes;
    if (bytes <= maxRequestBytes) return;
    const what = 'argv, metadata and kept environments of all running processes';
    const problem = `${what} together must be at most ${maxRequestBytes} bytes, got ${bytes}`;
    throw execError('invalidParams', { problem: `${problem}; end a process before starting another` });
  }

  #own(owned: ManagedProcess, keepMs?: number): void {
    this.#processes.set(owned.id, owned);
    if (keepMs !== undefined) this.#keepMs.set(owned, keepMs);
    this.#requestBytes += owned.request.bytes;
    void owned.closed.then(() => this.#processes.get(owned.id) === owned && this.#keepClosed(owned));
  }

  #keepClosed(closed: ManagedProcess): void {
    const { clock, limits } = this.#context;
    const keepMs = Math.min(this.#keepMs.get(closed) ?? Infinity, limits.keepClosedMs);
    if (keepMs === 0) return this.#forget(closed);
    const timer = clock.afterIdle(keepMs, () => this.#forget(closed));
    const bytes = fixedBytes + closed.request.bytes + closed.log.keptBytes;
    this.#closed.set(closed, { timer, bytes });
    this.#closedBytes += bytes;
    this.#requestBytes -= closed.request.bytes;
    for (const oldest of this.#closed.keys()) {
      if (this.#closed.size <= limits.maxClosed && this.#closedBytes <= limits.maxClosedBytes) break;
      this.#forget(oldest);
    }
  }

  #forget(forgotten: ManagedProcess): void {
    this.#forgetKeepingTree(forgotten);
    if (!forgotten.isTreeGone && this.#orphanTrees.length % orphanTreesPerLook === 0) void this.#dropEmptyTrees();
  }

  #forgetKeepingTree(forgotten: ManagedProcess): void {
    this.#drop(forgotten);
    if (forgotten.isTreeGone) return;
    this.#orphanTrees.push({ tree: forgotten.tree, pid: forgotten.pid, forceAfterMs: forgotten.forceAfterMs });
  }

  #drop(dropped: ManagedProcess): void {
    const kept = this.#closed.get(dropped);
    kept?.timer.cancel();
    if (kept === undefined) this.#requestBytes -= dropped.request.bytes;
    else this.#closedBytes -= kept.bytes;
    this.#closed.delete(dropped);
    this.#keepMs.delete(dropped);
    this.#processes.delete(dropped.id);
  }

  async #dropEmptyTrees(): Promise<void> {
    const isEmpty = async ({ tree }: { tree: ProcessTree }) => {
      const look = await tree.look('ofThisTurn').catch(() => undefined); // a failed look does not prove it empty
      return look?.isCertain === true && look.members.length === 0;
    };
    const looked = this.#orphanTrees;
    const areEmpty = await Promise.all(looked.map(isEmpty));
    const empty = new Set(looked.filter((_, index) => areEmpty[index]));
    this.#orphanTrees = this.#orphanTrees.filter((tree) => !empty.has(tree));
  }

  async #endOrphanTrees(maxGraceMs: number): Promise<void> {
    await this.#dropEmptyTrees();
    const ending = this.#orphanTrees;
    await Promise.all(
      ending.map(
        (child) =>
          new Promise<void>((resolve) => {
            const termination = new Termination(child, this.#context.clock, () => resolve());
            termination.leaderExited();
            termination.begin(Math.min(child.forceAfterMs, maxGraceMs));
          }),
      ),
    );
    this.#orphanTrees = this.#orphanTrees.filter((each) => !ending.includes(each));
  }
}
