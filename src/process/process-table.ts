// One session's processes: start, find, list, forget. Owns them: closing the table ends every one.

import type { Clock, Timer } from '../base/clock.js';
import { type EndReason, type ProcessId, execError } from '../protocol/index.js';
import type { Backend, ProcessTree } from './child.js';
import { type ByteCounter, ManagedProcess, type ProcessLimits, type ProcessOptions } from './managed-process.js';
import { Termination } from './termination.js';

export interface TableLimits extends ProcessLimits {
  /** Processes that have not closed yet. */
  readonly maxProcesses: number;
  /** Closed processes kept readable. */
  readonly maxClosed: number;
  /** Output of all closed processes together. */
  readonly maxClosedBytes: number;
  /** How long a closed process stays readable. */
  readonly keepClosedMs: number;
}

interface Context {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: TableLimits;
  readonly counter: ByteCounter;
}

/** Forgotten trees collected before a look at which of them still has anybody in it. */
const looseTreesPerLook = 64;

export class ProcessTable {
  readonly #context: Context;
  readonly #processes = new Map<ProcessId, ManagedProcess>();
  /** Closed ones, oldest first. */
  readonly #closed = new Map<ManagedProcess, Timer>();
  #closedBytes = 0;
  /** Trees of forgotten processes: a daemon may be left, and it dies with the table. */
  #loose: { tree: ProcessTree; pid: number }[] = [];

  constructor(context: Context) {
    this.#context = context;
  }

  start(options: ProcessOptions): ManagedProcess {
    this.#requireRoomFor(options.id);
    const started = new ManagedProcess(options, this.#context);
    this.#own(started);
    return started;
  }

  /** Hands a process over to another table, which owns it from then on. */
  moveTo(other: ProcessTable, id: ProcessId): void {
    const moved = this.get(id);
    other.#requireRoomFor(id);
    this.#drop(moved);
    other.#own(moved);
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

  /** Ends everything that was ever started here and waits until it is gone. */
  async close(reason: EndReason, forceAfterMs: number): Promise<void> {
    const running = this.list().filter((candidate) => !candidate.isClosed);
    for (const each of running) each.terminate(reason, forceAfterMs);
    await Promise.all(running.map((each) => each.closed));
    for (const each of this.list()) this.#loosen(each);
    await this.#endLoose();
  }

  #requireRoomFor(id: ProcessId): void {
    if (this.#processes.has(id)) throw execError('processExists', { processId: id });
    const { maxProcesses } = this.#context.limits;
    if (this.runningCount >= maxProcesses) throw execError('tooManyProcesses', { limit: maxProcesses });
  }

  #own(owned: ManagedProcess): void {
    this.#processes.set(owned.id, owned);
    void owned.closed.then(() => this.#processes.get(owned.id) === owned && this.#keepClosed(owned));
  }

  #keepClosed(closed: ManagedProcess): void {
    const { clock, limits } = this.#context;
    this.#closed.set(
      closed,
      clock.afterIdle(limits.keepClosedMs, () => this.#forget(closed)),
    );
    this.#closedBytes += closed.log.retainedBytes;
    for (const oldest of this.#closed.keys()) {
      if (this.#closed.size <= limits.maxClosed && this.#closedBytes <= limits.maxClosedBytes) break;
      this.#forget(oldest);
    }
  }

  #forget(forgotten: ManagedProcess): void {
    this.#loosen(forgotten);
    if (!forgotten.isTreeGone && this.#loose.length % looseTreesPerLook === 0) void this.#dropEmptyTrees();
  }

  #loosen(loosened: ManagedProcess): void {
    this.#drop(loosened);
    if (!loosened.isTreeGone) this.#loose.push({ tree: loosened.tree, pid: loosened.pid });
  }

  #drop(dropped: ManagedProcess): void {
    this.#closed.get(dropped)?.cancel();
    if (this.#closed.delete(dropped)) this.#closedBytes -= dropped.log.retainedBytes;
    if (this.#processes.get(dropped.id) === dropped) this.#processes.delete(dropped.id);
  }

  async #dropEmptyTrees(): Promise<void> {
    const isEmpty = async ({ tree }: { tree: ProcessTree }) => {
      const look = await tree.look('ofThisTurn').catch(() => undefined); // not known to be empty is not empty
      return look?.isCertain === true && look.members.length === 0;
    };
    const looked = this.#loose;
    const areEmpty = await Promise.all(looked.map(isEmpty));
    const empty = new Set(looked.filter((_, index) => areEmpty[index]));
    this.#loose = this.#loose.filter((loose) => !empty.has(loose));
  }

  async #endLoose(): Promise<void> {
    await this.#dropEmptyTrees();
    await Promise.all(
      this.#loose.map(
        (child) =>
          new Promise<void>((resolve) => {
            const termination = new Termination(child, this.#context.clock, () => resolve());
            termination.leaderExited();
            termination.begin(0);
          }),
      ),
    );
    this.#loose = [];
  }
}
