// What a process is started with: the caller's wishes, the limits it must stay within, and what it needs to run.

import type { Clock } from '../base/clock.js';
import type { ProcessId } from '../protocol/index.js';
import type { Backend } from './child.js';
import type { RequestLimits } from './start/kept-request.js';
import type { Retention } from './output/output-log.js';
import type { SpawnSpec } from './start/spawn.js';
import type { StdinLimits } from './input/stdin-writer.js';

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

/** Counts bytes, for metrics. */
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
