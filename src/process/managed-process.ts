// One process: child, log, stdin and the rules between them. The only writer of its log.

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

/** `held` while the slowest reader is a window behind: the child then waits in its full pipe, and nothing piles up here. */
type Output = 'flowing' | 'held' | 'ended';

type State =
  | { readonly kind: 'running'; readonly child: Child; readonly output: Output; readonly endReason: EndReason | undefined }
  /** The process has ended; its output has not, or its tree is being ended. */
  | { readonly kind: 'draining'; readonly child: Child; readonly output: Output; readonly ending: Ending }
  /** An ended process is kept for a while; its child, with sockets and timers, is not. */
  | { readonly kind: 'closed'; readonly ending: Ending };

export class ManagedProcess {
  readonly id: ProcessId;
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly log: OutputLog;
  readonly request: KeptRequest;
  /** Grace between SIGTERM and SIGKILL when the caller who ends it names none. */
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
  /** For silence: of the running process, then of what it leaves behind. */
  #silence: Timer | undefined;

  /** Spawns at once; throws `ExecError` spawnFailed when the command cannot run. `request` is what is kept of the options. */
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

  /** Nothing of its tree is left, and that was checked. */
  get isTreeGone(): boolean {
    return this.#termination.survivors?.length === 0;
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

  /** To the whole group, also when only descendants of the leader are left in it. */
  signal(name: string): Promise<boolean> {
    return this.tree.signalGroup(name);
  }

  /** Ends the tree; `closed` follows when it is gone. Tells whether the process itself was still running. */
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
    if (this.#state.kind !== 'running') return; // it was given up as lost, and has ended after all: what was reported stays true
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
    this.#closeWhenOver();
  }

  #onOutputEnded(): void {
    if (this.#state.kind !== 'closed') this.#state = { ...this.#state, output: 'ended' };
    this.#closeWhenOver();
  }

  #onTreeGone(survivors: readonly number[]): void {
    // Only a leader stuck in the kernel gets here alive: it cannot be waited for any longer.
    if (this.#state.kind === 'running') this.#onExited({ kind: 'lost' }, false);
    if (survivors.length > 0 && this.#state.kind !== 'closed') {
      // A survivor may hold the streams, which then never end.
      this.#state.child.close();
      this.#onOutputEnded();
    }
    this.#resume(); // drain the rest even if no reader takes it: otherwise `closed` would never come
    this.#closeWhenOver();
  }

  #closeWhenOver(): void {
    if (this.#state.kind !== 'draining' || this.#state.output !== 'ended') return;
    if (this.#leftovers === 'end') this.#termination.begin(0);
    if (this.#termination.isUnderWay) return;
    this.#state = { kind: 'closed', ending: this.#state.ending };
    this.#cancelTimers();
    this.log.appendClosed(this.#termination.survivors ?? []);
    this.#closed.resolve();
  }

  /** A descendant holds the output: wait while it writes, up to a limit. A held child is not a silent one. */
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

  /** One timer for any amount of output: when it fires it looks, and sleeps for the rest. */
  #watchIdle(idleTimeoutMs: number): void {
    if (this.#state.kind !== 'running') return;
    const { clock } = this.#context;
    const restMs = this.#lastOutputAt + idleTimeoutMs - clock.elapsed();
    // A process that is held back by its reader is not idle.
    if (restMs <= 0 && this.#state.output !== 'held') this.terminate('idleTimedOut', undefined);
    else this.#silence = clock.after(restMs <= 0 ? idleTimeoutMs : restMs, () => this.#watchIdle(idleTimeoutMs));
  }

  #cancelTimers(): void {
    this.#timeout?.cancel();
    this.#silence?.cancel();
  }
}
