// A handle for one process. All calls go through the service; the handle's only state is its cursor.

import type { Clock } from '../base/clock.js';
import {
  type Ending,
  type Page,
  type ProcessId,
  type Size,
  type Snapshot,
  type Stream,
  execError,
  isExecError,
} from '../protocol/index.js';
import { checkOptions } from '../protocol/read-params.js';
import { ConnectionClosedError } from '../rpc/rpc-error.js';
import { type CollectOptions, type Collected, collectUntil } from './collect-until.js';
import type { EventSource, ExecLink } from './exec-link.js';
import { LineSplitter, type SplitLine } from './line-splitter.js';
import { collectOptions, linesOptions, terminateOptions } from './option-checks.js';
import { type OutputChunk, OutputQueue } from './output-queue.js';

export interface Line extends SplitLine {
  readonly stream: Stream;
}

export interface LinesOptions {
  /** Only this stream; the others are read and discarded. All of them when absent. */
  readonly stream?: Stream;
  /** A longer line is split. 16 MiB when absent, because agents print images on one line. */
  readonly maxLineBytes?: number;
}

export interface TerminateOptions {
  /** Grace between SIGTERM and SIGKILL; 0 sends SIGKILL at once. The server's default when absent. */
  readonly forceAfterMs?: number;
}

export interface ReleaseOptions {
  /** `ended`: replaces a closed process that was released under the same id. When absent, such a process causes `processExists`. */
  readonly replace?: 'ended';
  /** How long the process stays readable after it has closed, limited by the server's setting; 0 forgets it immediately. */
  readonly keepMs?: number;
}

export interface Released {
  /** The session that now owns the process. */
  readonly sessionId: string;
  /** Whether an ended process was replaced. */
  readonly replaced: boolean;
}

export interface ReadOptions {
  /** Number of the last chunk already seen; from the start of the retained output when absent. */
  readonly afterSeq?: number;
  /** `nextBytes` of the previous page; makes `droppedBytes` exact even when much has been dropped since. */
  readonly afterBytes?: number;
  /** Soft limit: at least one whole chunk is returned. */
  readonly maxBytes?: number;
  /** Wait this long for output or the end if there is none yet. */
  readonly waitMs?: number;
  /** The end that stops the wait; `exited` when absent. Processes that it left running may write until `closed`. */
  readonly until?: 'exited' | 'closed';
}

/** The process that a handle is created for. */
export interface Joined {
  readonly id: ProcessId;
  readonly pid: number;
  readonly events: EventSource;
  /** What happens to the process when the handle is disposed: a handle from `start` terminates it, one from `attach` detaches. */
  readonly onDispose: 'terminate' | 'detach';
}

const defaultMaxLineBytes = 16 * 1024 * 1024;

export class ProcessHandle implements AsyncDisposable {
  readonly id: ProcessId;
  /** Pid of the group leader on the server's machine. NaN when the server does not report it; Codex's does not. */
  readonly pid: number;
  readonly #link: ExecLink;
  readonly #clock: Clock;
  readonly #queue: OutputQueue;
  readonly #joinedAt: number;
  readonly #onDispose: Joined['onDispose'];
  #exit: Promise<Ending> | undefined;
  #closed: Promise<Ending> | undefined;
  #stdoutEnded: Promise<'running' | 'ended'> | undefined;

  /** Use `Client.start` or `Client.attach`. */
  constructor(joined: Joined, link: ExecLink, clock: Clock) {
    this.id = joined.id;
    this.pid = joined.pid;
    this.#link = link;
    this.#clock = clock;
    this.#joinedAt = clock.now();
    this.#onDispose = joined.onDispose;
    this.#queue = new OutputQueue(joined.events);
  }

  /**
   * All output of the process, in order, until its end. There is one cursor per handle: a new iteration continues where the
   * last one stopped. Unread output eventually blocks the process.
   */
  get output(): AsyncIterable<OutputChunk> {
    return this.#chunks();
  }

  /** Discards all further output, so that it does not block the process. For processes that are watched with `Client.events`. */
  ignoreOutput(): void {
    this.#queue.close();
  }

  /** The output as lines of text, each stream split separately. */
  async *lines(options: LinesOptions = {}): AsyncGenerator<Line> {
    checkOptions(linesOptions, options);
    const splitters = new Map<Stream, LineSplitter>();
    for await (const { stream, bytes, droppedBytes } of this.output) {
      // A line that was cut by missing output does not continue after it.
      if (droppedBytes > 0) yield* rests(splitters);
      if (options.stream !== undefined && options.stream !== stream) continue;
      const splitter = splitters.get(stream) ?? new LineSplitter(options.maxLineBytes ?? defaultMaxLineBytes);
      splitters.set(stream, splitter);
      for (const line of splitter.push(bytes)) yield { stream, ...line };
    }
    yield* rests(splitters);
  }

  /** Reads until a deadline, a silence, a text or the exit, whichever comes first: the yield window. */
  async collectUntil(options: CollectOptions): Promise<Collected> {
    checkOptions(collectOptions, options);
    return collectUntil(this.#queue, options, this.#clock);
  }

  /** Resolves with the ending when the process has exited. Does not read the output, and unread output may keep it from exiting. */
  get exit(): Promise<Ending> {
    return (this.#exit ??= this.#wait('exited'));
  }

  /**
   * Resolves with `running` when the process has closed its stdout but keeps running, with `ended` when it has ended first. Always
   * `ended` on a terminal, and on a server that does not support this.
   */
  get stdoutEnded(): Promise<'running' | 'ended'> {
    return (this.#stdoutEnded ??= this.#waitForStdout());
  }

  /** How the process ended, or undefined if it still runs after `ms`; waits without limit when `ms` is undefined. */
  async endedWithin(ms: number | undefined): Promise<Ending | undefined> {
    if (ms === undefined) return this.exit;
    return (await this.#link.service['process/wait']({ processId: this.id, timeoutMs: ms })).ending;
  }

  /** Resolves when the output has ended and, after `terminate`, the whole process tree is gone. */
  get closed(): Promise<Ending> {
    return (this.#closed ??= this.#wait('closed'));
  }

  /** Resolves when the bytes fit into the window. Rejects with `stdinFull` beyond the hard cap. */
  async write(input: string | Uint8Array, writeId?: string): Promise<'accepted' | 'stdinClosed'> {
    const chunk = typeof input === 'string' ? new TextEncoder().encode(input) : input;
    const params = { processId: this.id, chunk, ...(writeId === undefined ? {} : { writeId }) };
    const { status } = await this.#link.service['process/write'](params);
    switch (status) {
      case 'accepted':
      case 'stdinClosed':
        return status;
      case 'unknownProcess':
      case 'starting':
        throw execError('processNotFound', { processId: this.id });
    }
  }

  /** Ends stdin after the bytes already written: closes a pipe, or sends a terminal its configured end-of-file character. */
  async closeStdin(): Promise<void> {
    await this.#link.service['process/closeStdin']({ processId: this.id });
  }

  async resize(size: Size): Promise<void> {
    await this.#link.service['process/resize']({ processId: this.id, size });
  }

  /** Sends a signal to the whole process group; false when no process is left to receive it. */
  async signal(name: string): Promise<boolean> {
    return (await this.#link.service['process/signal']({ processId: this.id, signal: name })).delivered;
  }

  /** Terminates the whole tree. Resolves at once with whether the process was still running; `closed` resolves when everything is gone. */
  async terminate(options: TerminateOptions = {}): Promise<boolean> {
    checkOptions(terminateOptions, options);
    const { forceAfterMs } = options;
    const grace = forceAfterMs === undefined ? {} : { timeoutMs: forceAfterMs };
    return (await this.#link.service['process/terminate']({ processId: this.id, ...grace })).running;
  }

  /** Makes the process outlive this client: it keeps running on the server, where any client of the same caller can attach to it. */
  async release(options: ReleaseOptions = {}): Promise<Released> {
    this.#queue.close();
    const { sessionId, replaced = false } = await this.#link.release({ processId: this.id, ...options });
    return { sessionId, replaced };
  }

  /** Makes the server forget a closed process and its output. Rejects with `processNotClosed` otherwise; false when already forgotten. */
  async forget(): Promise<boolean> {
    return (await this.#link.service['process/forget']({ processId: this.id })).forgotten;
  }

  /** A page of the retained output, independent of what `output` has read. */
  read(options: ReadOptions = {}): Promise<Page> {
    return this.#link.service['process/read']({ processId: this.id, ...options });
  }

  snapshot(): Promise<Snapshot> {
    return this.#link.service['process/snapshot']({ processId: this.id });
  }

  /**
   * Discards the output. Terminates a process that was started here, unless it has closed, and waits until it is gone; an attached process
   * keeps running. Leaving the scope of `await using` calls this.
   */
  async close(): Promise<void> {
    const { isComplete } = this.#queue;
    this.#queue.close();
    try {
      const detaching = this.#onDispose === 'detach' ? this.#link.detach(this.id) : undefined;
      // There is nothing left to terminate or to receive, so do not wait for a server that may be unreachable.
      if (isComplete) return void detaching?.catch(() => {});
      if (detaching !== undefined) return await detaching;
      const { running } = await this.#link.service['process/wait']({ processId: this.id, until: 'closed', timeoutMs: 0 });
      if (!running) return;
      await this.terminate();
      await this.closed;
    } catch (error) {
      // Ended and forgotten, or ended with its server.
      if (!isExecError(error, 'processNotFound') && !(error instanceof ConnectionClosedError)) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#chunks(): AsyncGenerator<OutputChunk> {
    for (let chunk = await this.#queue.next(); chunk !== undefined; chunk = await this.#queue.next()) yield chunk;
  }

  async #wait(until: 'exited' | 'closed'): Promise<Ending> {
    const { ending: received, isComplete } = this.#queue;
    if (received !== undefined && (until === 'exited' || isComplete)) return received;
    try {
      const { ending } = await this.#link.service['process/wait']({ processId: this.id, until });
      if (ending !== undefined) return ending;
      throw new Error(`the server reported that process ${this.id} has ended, but not how`);
    } catch (error) {
      // Forgotten by the server, or gone with it; an ending that was already received still counts.
      const { ending, isForgotten } = this.#queue;
      if (isExecError(error, 'processNotFound') && (ending !== undefined || isForgotten)) return ending ?? this.#lost();
      if (!(error instanceof ConnectionClosedError)) throw error;
      return ending ?? this.#lost();
    }
  }

  async #waitForStdout(): Promise<'running' | 'ended'> {
    try {
      const { running } = await this.#link.service['process/wait']({ processId: this.id, until: 'stdoutEnded' });
      return running ? 'running' : 'ended';
    } catch {
      await this.exit.catch(() => {}); // callers of `exit` get the error themselves
      return 'ended';
    }
  }

  /** The server is gone, or has forgotten the process while the connection was lost, so how it ended cannot be known. */
  #lost(): Ending {
    const facts = { reason: 'serverLost', outputComplete: false, droppedBytes: 0 } as const;
    return { kind: 'lost', ...facts, startedAt: this.#joinedAt, endedAt: Math.max(this.#joinedAt, this.#clock.now()) };
  }
}

/** The unfinished lines of all streams. */
function* rests(splitters: ReadonlyMap<Stream, LineSplitter>): Generator<Line> {
  for (const [stream, splitter] of splitters) for (const line of splitter.flush()) yield { stream, ...line };
}
