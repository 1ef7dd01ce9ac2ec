// The rate limit that blocks a turn, and how long to wait until it is lifted.

import type { Clock } from '../base/clock.js';

/** Wait before retrying when a rate limit has no known end. */
const defaultBackoffMs = 5 * 60_000;

export interface Block {
  /** Milliseconds since the Unix epoch; undefined when the program did not report it. */
  readonly resetsAt: number | undefined;
}

export function waitMs({ resetsAt }: Block, clock: Clock): number {
  return resetsAt === undefined ? defaultBackoffMs : Math.max(resetsAt - clock.now(), 0);
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function pause(ms: number, { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal }): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      timer.cancel();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = clock.after(signal.aborted ? 0 : ms, wake);
    signal.addEventListener('abort', wake);
  });
}
