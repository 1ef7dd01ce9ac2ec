// One process: child, log, stdin and the rules between them. The only writer of its log.

import type { Clock, Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import { type EndReason, type Ending, type ProcessId, type ProcessStatus, type Size, execError } from '../protocol/index.js';
import type { Backend, Child, ProcessTree, WaitStatus } from './child.js';
import { chunkBytes } from './chunk-memory.js';
import { type KeptRequest, type RequestLimits, metadataOf } from './kept-request.js';
import { OutputLog, type Retention } from './output-log.js';
import { type SpawnSpec, spawnChild } from './spawn.js';
import { type Sending, type StdinLimits, StdinWriter, type WriteStatus } from './stdin-writer.js';
import { Termination } from './termination.js';

export interface ProcessLimits extends Retention, StdinLimits, RequestLimits {
  /** The child is held back while a reader has this much yet to take. */
  readonly readerWindowBytes: number;
  /** After the exit, output of descendants is awaited until this long has passed without any. */
  readonly drainQuietMs: number;
  /** After the exit, output of descendants is awaited no longer than this. */
  readonly drainLimitMs: number;
  /** Grace between SIGTERM and SIGKILL when the caller names none. */
  readonly forceAfterMs: number;
}

export interface ProcessOptions {
  readonly id: ProcessId;
  readonly spec: SpawnSpec;
  readonly timeoutMs: number | undefined;
  readonly idleTimeoutMs: number | undefined;
  /** Grace between SIGTERM and SIGKILL when the caller who ends it names none; the limits' when absent. */
  readonly forceAfterMs: number | undefined;
  readonly metadata: Record<string, unknown> | undefined;
  /** Whether what is needed to start the same again is kept; it is not when absent. */
  readonly restartable?: boolean;
  /** What becomes of descendants that are left when the process has ended and its output is drained; they are kept when absent. */
  readonly leftovers?: 'keep' | 'end';
}

/** Told of every byte, for whoever counts them. */
export interface ByteCounter {
  /** Written by a process. */
  output(bytes: number): void;
  /** Forgotten to stay within retention. */
  dropped(bytes: number): void;
}

export interface ProcessContext {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: ProcessLimits;
  readonly counter: ByteCounter;
}

export class ManagedProcess {
  readonly id: ProcessId;
  readonly log: OutputLog;
  readonly request: KeptRequest;
  /** Grace between SIGTERM and SIGKILL when the caller who ends it names none. */
  readonly forceAfterMs: number;
  readonly #leftovers: 'keep' | 'end';
  readonly #clock: Clock;
  readonly #limits: ProcessLimits;
  readonly pid: number;
  readonly tree: ProcessTree;
  /** Let go of once closed: an ended process is kept for a while, its sockets and timers need not be. */
  #child: Child | undefined;
  readonly #hasTerminal: boolean;
  readonly #stdin: StdinWriter;
  readonly #termination: Termination;
  readonly #startedAt: number;
  #timers: Timer[] = [];
  readonly #exited = deferred<Ending>();
  readonly #closed = deferred<void>();
  readonly #counter: ByteCounter;
  #lastOutputAt: number;
  #endReason: EndReason | undefined;
  #ending: Ending | undefined;
  #isClosed = false;
  #isHeld = false;
  #size: Size | undefined;
  #hasOutputEnded = false;
  #survivors: readonly number[] = [];

  /** Spawns at once; throws `ExecError` spawnFailed when the command cannot run. `request` is what is kept of the options. */
  constructor(options: ProcessOptions, context: ProcessContext, request: KeptRequest) {
    this.id = options.id;
    this.request = request;
    this.forceAfterMs = options.forceAfterMs ?? context.limits.forceAfterMs;
    this.#leftovers = options.leftovers ?? 'keep';
    this.#clock = context.clock;
    this.#limits = context.limits;
    this.log = new OutputLog(context.limits);
    this.#counter = context.counter;
    this.log.onRead(() => this.#adjustHold());
    this.#startedAt = this.#clock.now();
    this.#lastOutputAt = this.#clock.elapsed();
    this.#child = spawnChild(context.backend, options.spec, {
      output: (stream, bytes) => this.#onOutput(stream, bytes),
      streamEnded: (stream) => this.log.endStream(stream),
      exited: (status, outputComplete) => this.#onExited(status, outputComplete),
      ended: () => this.#onOutputEnded(),
    });
    this.pid = this.#child.pid;
    this.tree = this.#child.tree;
    this.#hasTerminal = this.#child.resize !== undefined;
    this.#stdin = new StdinWriter(options.id, this.#child.input, context.limits);
    this.#termination = new Termination(this.#child, this.#clock, (survivors) => this.#onTreeGone(survivors));
    if (options.timeoutMs !== undefined) this.#after(options.timeoutMs, () => this.terminate('timedOut', undefined));
    if (options.idleTimeoutMs !== undefined) this.#watchIdle(options.idleTimeoutMs);
  }

  /** Undefined while the process runs. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  get state(): ProcessStatus['state'] {
    if (this.#isClosed) return 'closed';
    return this.#ending === undefined ? 'running' : 'exited';
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Nothing of its tree is left, and that was checked. */
  get isTreeGone(): boolean {
    return this.#termination.isOver && this.#survivors.length === 0;
  }

  /** Resolves when the process has ended and everything it wrote itself is in the log. */
  get exited(): Promise<Ending> {
    return this.#exited.promise;
  }

  /** Resolves when nothing more can come, and, if it was terminated, its whole tree is gone. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get stdinQueuedBytes(): number {
    return this.#stdin.queuedBytes;
  }

  /** Whether a start with this argv, retried because its answer was lost, means this process. */
  isStartedBy(argv: readonly string[]): boolean {
    const own = this.request.spec.argv;
    return own.length === argv.length && own.every((word, index) => word === argv[index]);
  }

  status(): ProcessStatus {
    const { spec } = this.request;
    return {
      processId: this.id,
      pid: this.pid,
      argv: [...spec.argv],
      cwd: spec.cwd,
      io: spec.io.kind === 'pty' ? { ...spec.io, ...this.#size } : spec.io,
      state: this.state,
      startedAt: this.#startedAt,
      nextSeq: this.log.nextSeq,
      outputBytes: this.log.totalBytes,
      ...(this.#ending === undefined ? {} : { ending: this.#ending }),
      ...metadataOf(this.request),
    };
  }

  write(bytes: Uint8Array, writeId: string | undefined, sending?: Sending): Promise<WriteStatus> {
    return this.#stdin.write(bytes, writeId, sending);
  }

  closeStdin(): 'closed' | 'alreadyClosed' {
    return this.#stdin.end();
  }

  resize(size: Size): void {
    if (!this.#hasTerminal) throw execError('notATerminal', { processId: this.id, remedy: 'io.kind "pty"' });
    if (this.#ending !== undefined) return;
    this.#child?.resize?.(size);
    this.#size = size;
  }

  /** To the whole group, also when only descendants of the leader are left in it. */
  signal(name: string): Promise<boolean> {
    return this.tree.signalGroup(name);
  }

  /** Ends the tree; `closed` follows when it is gone. Tells whether the process itself was still running. */
  terminate(reason: EndReason, forceAfterMs: number | undefined): boolean {
    const isRunning = this.#ending === undefined;
    if (isRunning) this.#endReason ??= reason;
    this.#termination.begin(forceAfterMs ?? this.forceAfterMs);
    return isRunning;
  }

  #onOutput(stream: 'stdout' | 'stderr' | 'pty', bytes: Uint8Array): void {
    this.#lastOutputAt = this.#clock.elapsed();
    this.#counter.output(bytes.length);
    const dropped = this.log.droppedBytes;
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      this.log.append(stream, bytes.subarray(at, at + chunkBytes));
    }
    if (this.log.droppedBytes > dropped) this.#counter.dropped(this.log.droppedBytes - dropped);
    this.#adjustHold();
  }

  /** The slowest reader decides: the child waits in its full pipe, and nothing piles up here. */
  #adjustHold(): void {
    const { unreadBytes } = this.log;
    if (!this.#isHeld && unreadBytes >= this.#limits.readerWindowBytes && !this.#termination.isOver) {
      this.#isHeld = true;
      this.#child?.hold();
    } else if (this.#isHeld && unreadBytes <= this.#limits.readerWindowBytes / 2) {
      this.#isHeld = false;
      this.#child?.resume();
    }
  }

  #onExited(status: WaitStatus, outputComplete: boolean): void {
    if (this.#ending !== undefined) return; // it was given up as lost, and has ended after all: what was told stays true
    this.#ending = {
      ...status,
      reason: this.#endReason ?? 'exited',
      outputComplete,
      droppedBytes: this.log.droppedBytes,
      startedAt: this.#startedAt,
      endedAt: Math.max(this.#startedAt, this.#clock.now()), // the clock may have been set back
    };
    this.#cancelTimers();
    this.#stdin.close();
    this.log.appendExited(this.#ending);
    this.#exited.resolve(this.#ending);
    this.#termination.leaderExited();
    if (!this.#hasOutputEnded) this.#watchDrain(this.#clock.elapsed());
    this.#closeWhenOver();
  }

  #onOutputEnded(): void {
    this.#hasOutputEnded = true;
    this.#closeWhenOver();
  }

  #onTreeGone(survivors: readonly number[]): void {
    this.#survivors = survivors;
    // Only a leader stuck in the kernel gets here alive: it cannot be waited for any longer.
    if (this.#ending === undefined) this.#onExited({ kind: 'lost' }, false);
    // Whoever held the streams is gone, or beyond reach: then nobody will tell that they have ended.
    if (survivors.length > 0) {
      this.#child?.close();
      this.#hasOutputEnded = true;
    }
    // What they left is little, and is read to its end whoever reads it: the end could not be told otherwise.
    if (this.#isHeld) this.#child?.resume();
    this.#closeWhenOver();
  }

  #closeWhenOver(): void {
    if (this.#isClosed || this.#ending === undefined || !this.#hasOutputEnded) return;
    if (this.#leftovers === 'end') this.#termination.begin(0);
    if (this.#termination.isUnderWay) return;
    this.#isClosed = true;
    this.#cancelTimers();
    this.#child = undefined;
    this.log.appendClosed(this.#survivors);
    this.#closed.resolve();
  }

  /** A descendant holds the output: wait while it has something to say, but not for ever. A held child is not a silent one. */
  #watchDrain(exitedAt: number): void {
    const { drainQuietMs, drainLimitMs } = this.#limits;
    const now = this.#clock.elapsed();
    const quietAt = Math.max(this.#lastOutputAt, exitedAt) + drainQuietMs;
    const giveUpAt = Math.min(quietAt, exitedAt + drainLimitMs);
    if (now >= giveUpAt && !this.#isHeld) return this.#child?.close();
    this.#after(Math.max(giveUpAt - now, this.#isHeld ? drainQuietMs : 1), () => this.#watchDrain(exitedAt));
  }

  /** One timer however much output there is: it looks when it fires, and goes back to sleep for the rest. */
  #watchIdle(idleTimeoutMs: number): void {
    const restMs = this.#lastOutputAt + idleTimeoutMs - this.#clock.elapsed();
    // Held back by its reader, the process cannot be blamed for its silence.
    if (restMs <= 0 && !this.#isHeld) this.terminate('idleTimedOut', undefined);
    else this.#after(restMs <= 0 ? idleTimeoutMs : restMs, () => this.#watchIdle(idleTimeoutMs));
  }

  #after(ms: number, fire: () => void): void {
    const timer = this.#clock.after(ms, () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
      fire();
    });
    this.#timers.push(timer);
  }

  #cancelTimers(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
  }
}
