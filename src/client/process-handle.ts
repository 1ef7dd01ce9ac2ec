// One process as its starter sees it. Everything goes through the service; the handle only remembers its cursor.

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
  /** Only this stream; the others are read and left out. All of them when absent. */
  readonly stream?: Stream;
  /** A longer line comes in pieces. 16 MiB when absent: agents print images on one line. */
  readonly maxLineBytes?: number;
}

export interface TerminateOptions {
  /** Patience between SIGTERM and SIGKILL; 0 forces at once. The server's default when absent. */
  readonly forceAfterMs?: number;
}

export interface ReleaseOptions {
  /** `ended`: a closed process that was released under the same id is forgotten for this one. Rejects with `processExists` when absent. */
  readonly replace?: 'ended';
  /** How long it stays readable once it has closed, at most what the server is set to; 0: it is forgotten at once. */
  readonly keepMs?: number;
}

export interface Released {
  /** The session that owns it from now on. */
  readonly sessionId: string;
  /** Whether an ended process was forgotten for it. */
  readonly replaced: boolean;
}

export interface ReadOptions {
  /** Last number already seen; from the start of what is retained when absent. */
  readonly afterSeq?: number;
  /** `nextBytes` of the page before: makes what is said to be missing exact, also when much was dropped since. */
  readonly afterBytes?: number;
  /** Soft bound: at least one whole chunk is returned. */
  readonly maxBytes?: number;
  /** Wait this long for output or the end when there is nothing yet. */
  readonly waitMs?: number;
  /** The end after which there is no waiting any more; `exited` when absent. What it left running may write until `closed`. */
  readonly until?: 'exited' | 'closed';
}

/** A process that a handle is made for. */
export interface Joined {
  readonly id: ProcessId;
  readonly pid: number;
  readonly events: EventSource;
  /** What becomes of the process when the handle's scope is left: whoever started it ends it. */
  readonly onDispose: 'terminate' | 'detach';
}

const defaultMaxLineBytes = 16 * 1024 * 1024;

export class ProcessHandle implements AsyncDisposable {
  readonly id: ProcessId;
  /** Of the leader, on the machine it runs on. NaN when the server does not tell it, as Codex's own does not. */
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
   * Everything the process writes, in order, until nothing more can come. There is one cursor per handle: reading goes
   * on where reading stopped. Output that is not read holds the process back.
   */
  get output(): AsyncIterable<OutputChunk> {
    return this.#chunks();
  }

  /** Throws the output away from here on, as it comes, so that it holds the process back no more: for those that `Client.events` shows. */
  ignoreOutput(): void {
    this.#queue.close();
  }

  /** The output as lines of text, each stream split on its own. */
  async *lines(options: LinesOptions = {}): AsyncGenerator<Line> {
    checkOptions(linesOptions, options);
    const splitters = new Map<Stream, LineSplitter>();
    for await (const { stream, bytes, droppedBytes } of this.output) {
      // What follows a hole does not go on with what was before it.
      if (droppedBytes > 0) yield* rests(splitters);
      if (options.stream !== undefined && options.stream !== stream) continue;
      const splitter = splitters.get(stream) ?? new LineSplitter(options.maxLineBytes ?? defaultMaxLineBytes);
      splitters.set(stream, splitter);
      for (const line of splitter.push(bytes)) yield { stream, ...line };
    }
    yield* rests(splitters);
  }

  /** Reads until a deadline, a silence, a text, or the exit, whichever comes first: the yield window. */
  async collectUntil(options: CollectOptions): Promise<Collected> {
    checkOptions(collectOptions, options);
    return collectUntil(this.#queue, options, this.#clock);
  }

  /** Resolves when the process has ended, with how. Does not read the output: what nobody reads may keep it from ending. */
  get exit(): Promise<Ending> {
    return (this.#exit ??= this.#wait('exited'));
  }

  /**
   * Resolves with `running` when the process has closed its stdout and goes on without, with `ended` when it has ended first. On a
   * terminal, and on a server that does not know this, only the end is seen.
   */
  get stdoutEnded(): Promise<'running' | 'ended'> {
    return (this.#stdoutEnded ??= this.#waitForStdout());
  }

  /** How it ended, or undefined when it still runs after this long; without limit when `ms` is absent. */
  async endedWithin(ms: number | undefined): Promise<Ending | undefined> {
    if (ms === undefined) return this.exit;
    return (await this.#link.service['process/wait']({ processId: this.id, timeoutMs: ms })).ending;
  }

  /** Resolves when nothing more can come and, after `terminate`, the whole tree is gone. */
  get closed(): Promise<Ending> {
    return (this.#closed ??= this.#wait('closed'));
  }

  /** Resolves when the bytes fit the window. Rejects with `stdinFull` past the hard cap. */
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

  /** Ends stdin after what was written: closes a pipe, sends a terminal the end-of-file character that it is set to. */
  async closeStdin(): Promise<void> {
    await this.#link.service['process/closeStdin']({ processId: this.id });
  }

  async resize(size: Size): Promise<void> {
    await this.#link.service['process/resize']({ processId: this.id, size });
  }

  /** One signal to the whole group; false when nobody is left to receive it. */
  async signal(name: string): Promise<boolean> {
    return (await this.#link.service['process/signal']({ processId: this.id, signal: name })).delivered;
  }

  /** Ends the whole tree. Answers at once: whether the process still ran; `closed` resolves when everything is gone. */
  async terminate(options: TerminateOptions = {}): Promise<boolean> {
    checkOptions(terminateOptions, options);
    const { forceAfterMs } = options;
    const grace = forceAfterMs === undefined ? {} : { timeoutMs: forceAfterMs };
    return (await this.#link.service['process/terminate']({ processId: this.id, ...grace })).running;
  }

  /** Makes the process outlive this client: it goes on on the server, where any client of the same caller can attach to it. */
  async release(options: ReleaseOptions = {}): Promise<Released> {
    this.#queue.close();
    const { sessionId, replaced = false } = await this.#link.release({ processId: this.id, ...options });
    return { sessionId, replaced };
  }

  /** Has the server forget a closed process and its output at once. Rejects with `processNotClosed`; false when it was forgotten already. */
  async forget(): Promise<boolean> {
    return (await this.#link.service['process/forget']({ processId: this.id })).forgotten;
  }

  /** A page of what is retained, whatever `output` has read. */
  read(options: ReadOptions = {}): Promise<Page> {
    return this.#link.service['process/read']({ processId: this.id, ...options });
  }

  snapshot(): Promise<Snapshot> {
    return this.#link.service['process/snapshot']({ processId: this.id });
  }

  /**
   * What leaving the scope of `await using` does. Lets go of the output. A process that was started here is ended unless everything is over, and waited for until it is gone;
   * one that was attached to runs on.
   */
  async close(): Promise<void> {
    const { isComplete } = this.#queue;
    this.#queue.close();
    try {
      const detaching = this.#onDispose === 'detach' ? this.#link.detach(this.id) : undefined;
      // Nothing is left to end or to come: a server that is out of reach need not confirm it.
      if (isComplete) return void detaching?.catch(() => {});
      if (detaching !== undefined) return await detaching;
      const { running } = await this.#link.service['process/wait']({ processId: this.id, until: 'closed', timeoutMs: 0 });
      if (!running) return;
      await this.terminate();
      await this.closed;
    } catch (error) {
      // Ended and forgotten, or ended with its server: nothing to do.
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
    const { ending: heard, isComplete } = this.#queue;
    if (heard !== undefined && (until === 'exited' || isComplete)) return heard;
    try {
      const { ending } = await this.#link.service['process/wait']({ processId: this.id, until });
      if (ending !== undefined) return ending;
      throw new Error(`the server said that process ${this.id} has ended, but not how`);
    } catch (error) {
      // Forgotten by the server, or gone with it: what this side has heard still counts.
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
      await this.exit.catch(() => {}); // its own caller is told
      return 'ended';
    }
  }

  /** The server is gone, or has forgotten the process while we were away, and with it the knowledge of how it ended. */
  #lost(): Ending {
    const facts = { reason: 'serverLost', outputComplete: false, droppedBytes: 0 } as const;
    return { kind: 'lost', ...facts, startedAt: this.#joinedAt, endedAt: Math.max(this.#joinedAt, this.#clock.now()) };
  }
}

/** The unfinished lines of all streams. */
function* rests(splitters: ReadonlyMap<Stream, LineSplitter>): Generator<Line> {
  for (const [stream, splitter] of splitters) for (const line of splitter.flush()) yield { stream, ...line };
}
