// Time as something handed in, so that tests own it. Knows nothing of what is being timed.

/** A running timer; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. May be set forward and back at any moment: for telling the time, not for measuring it. */
  now(): number;
  /** Whole milliseconds since some moment, never set: what deadlines and durations are measured by. */
  elapsed(): number;
  /** Calls `fire` once after `ms`. The timer keeps the program alive until it fires or is cancelled. */
  after(ms: number, fire: () => void): Timer;
  /** Like `after`, but a program with nothing else to do may end before it fires. */
  afterIdle(ms: number, fire: () => void): Timer;
}

/** The longest delay a Node timer takes; a longer one would fire at once. 2^31-1 ms is 24.8 days. */
const longestDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.trunc(performance.now()),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(ms, longestDelayMs));
    return { cancel: () => clearTimeout(timer) };
  },
  afterIdle(ms, fire) {
    const timer = setTimeout(fire, Math.min(ms, longestDelayMs));
    // Browsers give a number, which cannot hold a program open anyway.
    if (typeof timer === 'object') timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
