// One process: its child, log, stdin and timeouts, and how they affect each other. The only writer of its log.

import type { Timer } from '../base/clock.js';
import { deferred } from '../base/deferred.js';
import {
  type EndReason,
  type Ending,
  type Io,
  type ProcessId,
  type ProcessStatus,
  type Size,
  type Stream,
  execError,
} from '../protocol/index.js';
import type { Child, ProcessTree, WaitStatus } from './child.js';
import { chunkBytes } from './output/chunk-memory.js';
import { type KeptRequest, metadataOf } from './start/kept-request.js';
import { OutputLog } from './output/output-log.js';
import type { ProcessContext, ProcessOptions } from './process-options.js';
import { spawnChild } from './start/spawn.js';
import { type Sending, StdinWriter, type WriteStatus } from './input/stdin-writer.js';
import { Termination } from './end/termination.js';

/** `held` while the slowest reader is a full window behind: the child then blocks on its full pipe, and no output queues up here. */
type Output = 'flowing' | 'held' | 'ended';

type State =
  | { readonly kind: 'running'; readonly child: Child; readonly output: Output; readonly endReason: EndReason | undefined }
  /** The process has ended, but its output has not, or its tree is still being terminated. */
  | { readonly kind: 'draining'; readonly child: Child; readonly output: Output; readonly ending: Ending }
  /** A closed process is kept for a while, but its child, with sockets and timers, is released. */
  | { readonly kind: 'closed'; readonly ending: Ending };

export class ManagedProcess {
  readonly id: ProcessId;
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly log: OutputLog;
  readonly request: KeptRequest;
  /** Time between SIGTERM and SIGKILL when the call that terminates the process gives none. */
  readonly forceAfterMs: number;
  readonly #leftovers: 'keep' | 'end';
  readonly #context: ProcessContext;
  readonly #stdin: StdinWriter;
  readonly #termination: Termination;
  readonly #exited = deferred<Ending>();
  readonly #closed = deferred<void>();
  readonly #startedAt: number;
  #lastOutputAt: number;
  #state: State;
  #io: Io;
  #timeout: Timer | undefined;
  /** Fires on silence: first of the running process, then of the descendants it leaves behind. */
  #silence: Timer | undefined;

  /** Spawns immediately; throws `ExecError` spawnFailed when the command cannot run. `request` is the part of the options to keep. */
  constructor(options: ProcessOptions, context: ProcessContext, request: KeptRequest) {
    const { backend, clock, limits } = context;
    this.id = options.id;
    this.request = request;
    this.forceAfterMs = options.forceAfterMs ?? limits.forceAfterMs;
    this.#leftovers = options.leftovers ?? 'keep';
    this.#context = context;
    this.#io = request.spec.io;
    this.log = new OutputLog(limits);
    this.log.onRead(() => this.#adjustHold());
    this.#startedAt = clock.now();
    this.#lastOutputAt = clock.elapsed();
    const child = spawnChild(backend, options.spec, {
      output: (stream, bytes) => this.#onOutput(stream, bytes),
      streamEnded: (stream) => this.log.endStream(stream),
      exited: (status, outputComplete) => this.#onExited(status, outputComplete),
      ended: () => this.#onOutputEnded(),
    });
    this.#state = { kind: 'running', child, output: 'flowing', endReason: undefined };
    this.pid = child.pid;
    this.tree = child.tree;
    this.#stdin = new StdinWriter(options.id, child.input, limits);
    this.#termination = new Termination(child, clock, (survivors) => this.#onTreeGone(survivors));
    const { timeoutMs, idleTimeoutMs } = options;
    if (timeoutMs !== undefined) this.#timeout = clock.after(timeoutMs, () => this.terminate('timedOut', undefined));
    if (idleTimeoutMs !== undefined) this.#watchIdle(idleTimeoutMs);
  }

  /** Undefined while the process runs. */
  get ending(): Ending | undefined {
    return this.#state.kind === 'running' ? undefined : this.#state.ending;
  }

  get state(): ProcessStatus['state'] {
    return this.#state.kind === 'draining' ? 'exited' : this.#state.kind;
  }

  get isClosed(): boolean {
    return this.#state.kind === 'closed';
  }

  /** A look at the tree has confirmed that no process of it is left. */
  get isTreeGone(): boolean {
    return this.#termination.survivors?.length === 0;
  }

  /** Resolves when the process has ended and everything it wrote itself is in the log. */
  get exited(): Promise<Ending> {
    return this.#exited.promise;
  }

  /** Resolves when no more output can follow and, if the process was terminated, its whole tree is gone. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get stdinQueuedBytes(): number {
    return this.#stdin.queuedBytes;
  }

  /** Whether a retried start with this argv, whose first answer was lost, refers to this process. */
  isStartedBy(argv: readonly string[]): boolean {
    const own = this.request.spec.argv;
    return own.length === argv.length && own.every((word, index) => word === argv[index]);
  }

  status(): ProcessStatus {
    const { spec } = this.request;
    const { ending } = this;
    return {
      processId: this.id,
      pid: this.pid,
      argv: [...spec.argv],
      cwd: spec.cwd,
      io: this.#io,
      state: this.state,
      startedAt: this.#startedAt,
      nextSeq: this.log.nextSeq,
      outputBytes: this.log.totalBytes,
      ...(ending === undefined ? {} : { ending }),
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
    if (this.#io.kind !== 'pty') throw execError('notATerminal', { processId: this.id, remedy: 'io.kind "pty"' });
    if (this.#state.kind !== 'running') return;
    this.#state.child.resize?.(size);
    this.#io = { ...this.#io, ...size };
  }

  /** Signals the whole group, even when only descendants of the leader are left in it. */
  signal(name: string): Promise<boolean> {
    return this.tree.signalGroup(name);
  }

  /** Ends the tree; `closed` resolves when it is gone. Returns whether the process itself was still running. */
  terminate(reason: EndReason, forceAfterMs: number | undefined): boolean {
    const isRunning = this.#state.kind === 'running';
    if (this.#state.kind === 'running') this.#state = { ...this.#state, endReason: this.#state.endReason ?? reason };
    this.#termination.begin(forceAfterMs ?? this.forceAfterMs);
    return isRunning;
  }

  #onOutput(stream: Stream, bytes: Uint8Array): void {
    const { clock, counter } = this.#context;
    this.#lastOutputAt = clock.elapsed();
    counter.output(bytes.length);
    const dropped = this.log.droppedBytes;
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      this.log.append(stream, bytes.subarray(at, at + chunkBytes));
    }
    if (this.log.droppedBytes > dropped) counter.dropped(this.log.droppedBytes - dropped);
    this.#adjustHold();
  }

  #adjustHold(): void {
    if (this.#state.kind === 'closed') return;
    const { unreadBytes } = this.log;
    const { readerWindowBytes } = this.#context.limits;
    const { child, output } = this.#state;
    if (output === 'flowing' && unreadBytes >= readerWindowBytes && !this.#termination.isOver) {
      this.#state = { ...this.#state, output: 'held' };
      child.hold();
    } else if (output === 'held' && unreadBytes <= readerWindowBytes / 2) {
      this.#resume();
    }
  }

  #resume(): void {
    if (this.#state.kind === 'closed' || this.#state.output !== 'held') return;
    this.#state = { ...this.#state, output: 'flowing' };
    this.#state.child.resume();
  }

  #onExited(status: WaitStatus, outputComplete: boolean): void {
    if (this.#state.kind !== 'running') return; // already reported as lost, and that report is final
    const { child, output, endReason } = this.#state;
    const { clock } = this.#context;
    const ending = {
      ...status,
      reason: endReason ?? 'exited',
      outputComplete,
      droppedBytes: this.log.droppedBytes,
      startedAt: this.#startedAt,
      endedAt: Math.max(this.#startedAt, clock.now()), // the clock may have been set back
    };
    this.#state = { kind: 'draining', child, output, ending };
    this.#cancelTimers();
    this.#stdin.close();
    this.log.appendExited(ending);
    this.#exited.resolve(ending);
    this.#termination.leaderExited();
    if (output !== 'ended') this.#watchDrain(clock.elapsed());
    this.#closeIfDone();
  }

  #onOutputEnded(): void {
    if (this.#state.kind !== 'closed') this.#state = { ...this.#state, output: 'ended' };
    this.#closeIfDone();
  }

  #onTreeGone(survivors: readonly number[]): void {
    // Only a leader stuck in the kernel is still alive here. Stop waiting for it.
    if (this.#state.kind === 'running') this.#onExited({ kind: 'lost' }, false);
    if (survivors.length > 0 && this.#state.kind !== 'closed') {
      // A survivor may hold the streams open forever.
      this.#state.child.close();
      this.#onOutputEnded();
    }
    this.#resume(); // drain the rest even if no reader takes it: otherwise `closed` would never resolve
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#state.kind !== 'draining' || this.#state.output !== 'ended') return;
    if (this.#leftovers === 'end') this.#termination.begin(0);
    if (this.#termination.isUnderWay) return;
    this.#state = { kind: 'closed', ending: this.#state.ending };
    this.#cancelTimers();
    this.log.appendClosed(this.#termination.survivors ?? []);
    this.#closed.resolve();
  }

  /** A descendant holds the output open: wait while it keeps writing, up to a limit. Being held does not count as silence. */
  #watchDrain(exitedAt: number): void {
    if (this.#state.kind === 'closed') return;
    const { clock, limits } = this.#context;
    const { drainQuietMs, drainLimitMs } = limits;
    const now = clock.elapsed();
    const quietAt = Math.max(this.#lastOutputAt, exitedAt) + drainQuietMs;
    const giveUpAt = Math.min(quietAt, exitedAt + drainLimitMs);
    const isHeld = this.#state.output === 'held';
    if (now >= giveUpAt && !isHeld) return this.#state.child.close();
    this.#silence = clock.after(Math.max(giveUpAt - now, isHeld ? drainQuietMs : 1), () => this.#watchDrain(exitedAt));
  }

  /** One timer for any amount of output: when it fires, it checks the last output and sleeps for the remaining time. */
  #watchIdle(idleTimeoutMs: number): void {
    if (this.#state.kind !== 'running') return;
    const { clock } = this.#context;
    const restMs = this.#lastOutputAt + idleTimeoutMs - clock.elapsed();
    // A process blocked by a slow reader is not idle.
    if (restMs <= 0 && this.#state.output !== 'held') this.terminate('idleTimedOut', undefined);
    else this.#silence = clock.after(restMs <= 0 ? idleTimeoutMs : restMs, () => this.#watchIdle(idleTimeoutMs));
  }

  /** Drops the timers too: a closed process is kept for a while, and each would take 400 bytes. */
  #cancelTimers(): void {
    this.#timeout?.cancel();
    this.#silence?.cancel();
    this.#timeout = undefined;
    this.#silence = undefined;
  }
}
