// Turns a non-Sluice server's notifications about one process into Sluice's events: in order, the exit after the output, with an ending.

import type { Clock, Timer } from '../base/clock.js';
import type { EndReason, Ending, ProcessEvent, ProcessId, Seq, Stream } from '../protocol/index.js';

/** One notification. A v0 server does not number them. */
export type PlainNotice =
  | { readonly kind: 'output'; readonly seq: Seq | undefined; readonly stream: Stream; readonly chunk: Uint8Array }
  | { readonly kind: 'exited'; readonly seq: Seq | undefined; readonly exitCode: number; readonly sandboxDenied: boolean }
  | { readonly kind: 'closed'; readonly seq: Seq | undefined };

export interface PlainProcessOptions {
  readonly processId: ProcessId;
  readonly clock: Clock;
  /** A v0 server has no `closed` notification; silence after the exit has to serve as the end. */
  readonly hasClosed: boolean;
  readonly onEvent: (event: ProcessEvent) => void;
  readonly terminate: () => void;
}

/** Enforced by the client, because the server has no such limits. */
export interface PlainTimeouts {
  readonly timeoutMs?: number | null | undefined;
  readonly idleTimeoutMs?: number | null | undefined;
}

/** Limit for notifications held because an earlier one is missing. Codex at most swaps neighbours, so this many mean that one was lost. */
const maxEarly = 256;

/** Silence after the exit before the exit is reported: as long as Sluice waits for a descendant that holds the output open. */
const drainQuietMs = 2_000;

/** The same for a server that never sends `closed`. */
const unclosedQuietMs = 250;

export class PlainProcess {
  readonly #options: PlainProcessOptions;
  readonly #early = new Map<Seq, PlainNotice>();
  readonly #waiters = new Set<{ readonly look: () => void; readonly done: () => void }>();
  #timers: { total?: Timer; idle?: Timer; drain?: Timer } = {};
  #timeouts: PlainTimeouts = {};
  #startedAt: number;
  #expected: Seq = 1;
  #lastSeq: Seq = 0;
  #exit: { readonly exitCode: number; readonly sandboxDenied: boolean; readonly endedAt: number } | undefined;
  #reason: EndReason = 'exited';
  #ending: Ending | undefined;
  #isClosed = false;

  constructor(options: PlainProcessOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** To be called when the server has replied that the process runs. */
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

  /** Terminates the process. The first reason given counts. */
  end(reason: EndReason): void {
    if (this.#exit !== undefined) return;
    if (this.#reason === 'exited') this.#reason = reason;
    this.#options.terminate();
  }

  /** Throws when a notification must have been lost, because the later ones could not be ordered. */
  receive(notice: PlainNotice): void {
    if (notice.seq === undefined) return this.#take(notice);
    if (notice.seq < this.#expected) return;
    this.#early.set(notice.seq, notice);
    for (let next = this.#early.get(this.#expected); next !== undefined; next = this.#early.get(this.#expected)) {
      this.#early.delete(this.#expected);
      this.#expected += 1;
      this.#take(next);
    }
    if (this.#early.size > maxEarly) throw new Error(`event ${this.#expected} of process ${this.#options.processId} is missing`);
  }

  /** Resolves when the process has exited or closed, or after `timeoutMs`; waits without limit when that is not a number. */
  async until(moment: 'exited' | 'closed', timeoutMs: number | null | undefined): Promise<void> {
    const isReached = () => (moment === 'closed' ? this.#isClosed : this.#ending !== undefined);
    if (isReached()) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        timer?.cancel();
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { look: () => void (isReached() && done()), done };
      const timer = typeof timeoutMs === 'number' ? this.#options.clock.after(timeoutMs, done) : undefined;
      this.#waiters.add(waiter);
    });
  }

  /** No more notifications will arrive: the server is gone, or has refused to start the process. */
  forget(): void {
    this.#stopTimers();
    for (const { done } of this.#waiters) done();
  }

  #take(notice: PlainNotice): void {
    const { processId } = this.#options;
    switch (notice.kind) {
      case 'output':
        this.#emit({ type: 'output', processId, seq: this.#next(notice.seq), stream: notice.stream, chunk: notice.chunk });
        return this.#exit === undefined ? this.#watchSilence() : this.#awaitRest();
      case 'exited':
        this.#stopTimers();
        this.#exit = { exitCode: notice.exitCode, sandboxDenied: notice.sandboxDenied, endedAt: this.#options.clock.now() };
        return this.#awaitRest();
      case 'closed':
        this.#emitExit('complete');
        return this.#close(notice.seq);
    }
  }

  /** The server may send output after the exit, so the exit is held back. */
  #awaitRest(): void {
    const { clock, hasClosed } = this.#options;
    if (this.#ending !== undefined && hasClosed) return;
    this.#timers.drain?.cancel();
    this.#timers.drain = clock.after(hasClosed ? drainQuietMs : unclosedQuietMs, () => {
      this.#emitExit('unknown');
      if (!hasClosed) this.#close(undefined);
    });
  }

  #watchSilence(): void {
    const { idleTimeoutMs } = this.#timeouts;
    if (typeof idleTimeoutMs !== 'number') return;
    this.#timers.idle?.cancel();
    this.#timers.idle = this.#options.clock.after(idleTimeoutMs, () => this.end('idleTimedOut'));
  }

  #emitExit(output: 'complete' | 'unknown'): void {
    if (this.#exit === undefined || this.#ending !== undefined) return;
    const { exitCode, sandboxDenied, endedAt } = this.#exit;
    const facts = {
      reason: this.#reason,
      outputComplete: output === 'complete',
      droppedBytes: 0,
      startedAt: this.#startedAt,
      endedAt: Math.max(this.#startedAt, endedAt),
    };
    // The server does not say whether 137 was a signal. Codex sends -1 when it did not see the exit.
    const ending: Ending = exitCode === -1 ? { kind: 'lost', ...facts } : { kind: 'code', code: exitCode, ...facts };
    this.#ending = ending;
    const { processId } = this.#options;
    this.#emit({ type: 'exited', processId, seq: this.#next(undefined), exitCode, sandboxDenied, ending });
  }

  #close(seq: Seq | undefined): void {
    this.#stopTimers();
    this.#isClosed = true;
    this.#emit({ type: 'closed', processId: this.#options.processId, seq: this.#next(seq) });
  }

  /** The server's number if that keeps the order; an event that was held back gets a later one. */
  #next(seq: Seq | undefined): Seq {
    this.#lastSeq = Math.max(this.#lastSeq + 1, seq ?? 0);
    return this.#lastSeq;
  }

  #emit(event: ProcessEvent): void {
    this.#options.onEvent(event);
    for (const { look } of this.#waiters) look();
  }

  #stopTimers(): void {
    for (const timer of Object.values(this.#timers)) timer.cancel();
    this.#timers = {};
  }
}
