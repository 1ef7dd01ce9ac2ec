// What a server other than Sluice tells of one process -> events as Sluice would tell them: in order, the exit after the output, with an ending.

import type { Clock, Timer } from '../base/clock.js';
import type { EndReason, Ending, ProcessEvent, ProcessId, Seq, Stream } from '../protocol/index.js';

/** One notification. A v0 server numbers nothing. */
export type PlainNotice =
  | { readonly kind: 'output'; readonly seq: Seq | undefined; readonly stream: Stream; readonly chunk: Uint8Array }
  | { readonly kind: 'exited'; readonly seq: Seq | undefined; readonly exitCode: number; readonly sandboxDenied: boolean }
  | { readonly kind: 'closed'; readonly seq: Seq | undefined };

export interface PlainProcessOptions {
  readonly processId: ProcessId;
  readonly clock: Clock;
  /** A v0 server has no `closed`: after the exit, silence is all there is to go by. */
  readonly hasClosed: boolean;
  readonly tell: (event: ProcessEvent) => void;
  readonly terminate: () => void;
}

/** Kept by this side, because the server knows no such limits. */
export interface PlainTimeouts {
  readonly timeoutMs?: number | null | undefined;
  readonly idleTimeoutMs?: number | null | undefined;
}

/** Notifications held because one before them has not come. Codex swaps neighbours at most; so many mean that one is lost. */
const maxEarly = 256;

/** How long output may stay away after the exit before that is told: as long as Sluice waits for a descendant that holds the output open. */
const drainQuietMs = 2_000;

/** The same for a server that never says that nothing more will come. */
const unclosedQuietMs = 250;

export class PlainProcess {
  readonly #options: PlainProcessOptions;
  readonly #early = new Map<Seq, PlainNotice>();
  readonly #waiters = new Set<{ readonly look: () => void; readonly done: () => void }>();
  #timers: { total?: Timer; idle?: Timer; drain?: Timer } = {};
  #timeouts: PlainTimeouts = {};
  #startedAt: number;
  #expected: Seq = 1;
  #told: Seq = 0;
  #exit: { readonly exitCode: number; readonly sandboxDenied: boolean; readonly endedAt: number } | undefined;
  #reason: EndReason = 'exited';
  #ending: Ending | undefined;
  #isClosed = false;

  constructor(options: PlainProcessOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** The server has said that it runs. */
  started(timeouts: PlainTimeouts): void {
    if (this.#exit !== undefined) return;
    const { clock } = this.#options;
    this.#timeouts = timeouts;
    this.#startedAt = clock.now();
    const { timeoutMs } = timeouts;
    if (typeof timeoutMs === 'number') this.#timers.total = clock.after(timeoutMs, () => this.end('timedOut'));
    this.#watchSilence();
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  get hasExited(): boolean {
    return this.#exit !== undefined;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The first reason counts. */
  end(reason: EndReason): void {
    if (this.#exit !== undefined) return;
    if (this.#reason === 'exited') this.#reason = reason;
    this.#options.terminate();
  }

  /** Throws when a notification must have been lost: what comes after it could not be put in order. */
  hear(notice: PlainNotice): void {
    if (notice.seq === undefined) return this.#take(notice);
    if (notice.seq < this.#expected) return;
    this.#early.set(notice.seq, notice);
    for (let next = this.#early.get(this.#expected); next !== undefined; next = this.#early.get(this.#expected)) {
      this.#early.delete(this.#expected);
      this.#expected += 1;
      this.#take(next);
    }
    if (this.#early.size > maxEarly) throw new Error(`number ${this.#expected} of process ${this.#options.processId} never came`);
  }

  /** Resolves when it has exited or closed, or when the time is up; without a limit when `timeoutMs` is not a number. */
  async until(moment: 'exited' | 'closed', timeoutMs: number | null | undefined): Promise<void> {
    const isOver = () => (moment === 'closed' ? this.#isClosed : this.#ending !== undefined);
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        timer?.cancel();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { look: () => void (isOver() && done()), done };
      const timer = typeof timeoutMs === 'number' ? this.#options.clock.after(timeoutMs, done) : undefined;
      this.#waiters.add(waiter);
    });
  }

  /** Nothing more will be heard of it: the server is gone, or has refused to start it. */
  forget(): void {
    this.#stopTimers();
    for (const { done } of this.#waiters) done();
  }

  #take(notice: PlainNotice): void {
    const { processId } = this.#options;
    switch (notice.kind) {
      case 'output':
        this.#tell({ type: 'output', processId, seq: this.#next(notice.seq), stream: notice.stream, chunk: notice.chunk });
        return this.#exit === undefined ? this.#watchSilence() : this.#awaitRest();
      case 'exited':
        this.#stopTimers();
        this.#exit = { exitCode: notice.exitCode, sandboxDenied: notice.sandboxDenied, endedAt: this.#options.clock.now() };
        return this.#awaitRest();
      case 'closed':
        this.#tellExit('complete');
        return this.#close(notice.seq);
    }
  }

  /** Output may come after the exit, so the exit waits for it. */
  #awaitRest(): void {
    const { clock, hasClosed } = this.#options;
    if (this.#ending !== undefined && hasClosed) return;
    this.#timers.drain?.cancel();
    this.#timers.drain = clock.after(hasClosed ? drainQuietMs : unclosedQuietMs, () => {
      this.#tellExit('unknown');
      if (!hasClosed) this.#close(undefined);
    });
  }

  #watchSilence(): void {
    const { idleTimeoutMs } = this.#timeouts;
    if (typeof idleTimeoutMs !== 'number') return;
    this.#timers.idle?.cancel();
    this.#timers.idle = this.#options.clock.after(idleTimeoutMs, () => this.end('idleTimedOut'));
  }

  #tellExit(output: 'complete' | 'unknown'): void {
    if (this.#exit === undefined || this.#ending !== undefined) return;
    const { exitCode, sandboxDenied, endedAt } = this.#exit;
    const facts = {
      reason: this.#reason,
      outputComplete: output === 'complete',
      droppedBytes: 0,
      startedAt: this.#startedAt,
      endedAt: Math.max(this.#startedAt, endedAt),
    };
    // Whether 137 was a signal is not said. -1 is Codex's word for an end that it did not see.
    const ending: Ending = exitCode === -1 ? { kind: 'lost', ...facts } : { kind: 'code', code: exitCode, ...facts };
    this.#ending = ending;
    const { processId } = this.#options;
    this.#tell({ type: 'exited', processId, seq: this.#next(undefined), exitCode, sandboxDenied, ending });
  }

  #close(seq: Seq | undefined): void {
    this.#stopTimers();
    this.#isClosed = true;
    this.#tell({ type: 'closed', processId: this.#options.processId, seq: this.#next(seq) });
  }

  /** The server's own number where that keeps the order: what was held back comes under a later one. */
  #next(seq: Seq | undefined): Seq {
    this.#told = Math.max(this.#told + 1, seq ?? 0);
    return this.#told;
  }

  #tell(event: ProcessEvent): void {
    this.#options.tell(event);
    for (const { look } of this.#waiters) look();
  }

  #stopTimers(): void {
    for (const timer of Object.values(this.#timers)) timer.cancel();
    this.#timers = {};
  }
}
