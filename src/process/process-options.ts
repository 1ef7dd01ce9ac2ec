// What a process is started with: the caller's options, the limits that apply, and the services it uses.

import type { Clock } from '../base/clock.js';
import type { ProcessId } from '../protocol/index.js';
import type { Backend } from './child.js';
import type { RequestLimits } from './start/kept-request.js';
import type { Retention } from './output/output-log.js';
import type { SpawnSpec } from './start/spawn.js';
import type { StdinLimits } from './input/stdin-writer.js';

export interface ProcessLimits extends Retention, StdinLimits, RequestLimits {
  /** The child is held while a reader has this much output left to read. */
  readonly readerWindowBytes: number;
  /** After the exit, wait for output of descendants until none has arrived for this long. */
  readonly drainQuietMs: number;
  /** After the exit, wait for output of descendants at most this long in total. */
  readonly drainLimitMs: number;
  /** Time between SIGTERM and SIGKILL when the process's options give none. */
  readonly forceAfterMs: number;
}

export interface ProcessOptions {
  readonly id: ProcessId;
  readonly spec: SpawnSpec;
  readonly timeoutMs: number | undefined;
  readonly idleTimeoutMs: number | undefined;
  /** Time between SIGTERM and SIGKILL when the call that terminates the process gives none; the limit's value when absent. */
  readonly forceAfterMs: number | undefined;
  readonly metadata: Record<string, unknown> | undefined;
  /** Whether to keep what a restart needs; false when absent. */
  readonly restartable?: boolean;
  /** What happens to descendants that are left once the process has ended and its output is drained; `keep` when absent. */
  readonly leftovers?: 'keep' | 'end';
}

/** Counts bytes, for metrics. */
export interface ByteCounter {
  /** Written by a process. */
  output(bytes: number): void;
  /** Evicted from a log to stay within its retention. */
  dropped(bytes: number): void;
}

export interface ProcessContext {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly limits: ProcessLimits;
  readonly counter: ByteCounter;
}
