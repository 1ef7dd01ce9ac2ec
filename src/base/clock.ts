// Time as an injected dependency, so that tests control it. Knows nothing about what is being timed.

/** A running timer; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump forward or back at any moment: use it for timestamps, not to measure durations. */
  now(): number;
  /** Whole milliseconds since an arbitrary point, monotonic: use it for deadlines and durations. */
  elapsed(): number;
  /** Calls `fire` once after `ms`. The timer keeps the program alive until it fires or is cancelled. */
  after(ms: number, fire: () => void): Timer;
  /** Like `after`, but does not keep the program alive. */
  afterIdle(ms: number, fire: () => void): Timer;
}

/** The longest delay a Node timer accepts; a longer one would fire at once, so it is split up. 2^31-1 ms is 24.8 days. */
const longestDelayMs = 2 ** 31 - 1;

/** A timer is this late only if the program was suspended, paused with its container, or busy in one long task. */
const lateMs = 20;

/**
 * Timers run before other pending events: output of a process considered silent, the reply of a peer considered dead, a client that
 * reconnected in time. To let those be handled first, a late timer waits for a fraction of its lateness, but at most this long.
 */
const longestCatchUpMs = 100;
const catchUpFraction = 0.2;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.trunc(steadyMs()),
  after: (ms, fire) => (ms === 0 && typeof setImmediate === 'function' ? startAtOnce(fire) : startTimer(ms, fire, () => {})),
  // Browsers return a number, and their timers keep nothing alive anyway.
  afterIdle: (ms, fire) => startTimer(ms, fire, (timer) => typeof timer === 'object' && timer.unref()),
};

/** Monotonic. In Node, `process.hrtime` is the same clock as `performance`, which takes 1 ms of every start to load. */
function steadyMs(): number {
  if (typeof process === 'undefined' || typeof process.hrtime !== 'function') return performance.now();
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** Fires after pending events. Node turns a 0 ms timer into 1 ms, and browsers have nothing shorter than a timer. */
function startAtOnce(fire: () => void): Timer {
  const immediate = setImmediate(fire);
  return { cancel: () => clearImmediate(immediate) };
}

type NativeTimer = ReturnType<typeof setTimeout>;

function startTimer(ms: number, fire: () => void, started: (timer: NativeTimer) => void): Timer {
  let timer: NativeTimer;
  const wait = (restMs: number): void => {
    const delayMs = Math.min(restMs, longestDelayMs);
    const dueAt = steadyMs() + delayMs;
    timer = setTimeout(() => {
      if (restMs > delayMs) return wait(restMs - delayMs);
      const behindMs = steadyMs() - dueAt;
      if (behindMs < lateMs) return fire();
      timer = setTimeout(fire, Math.min(behindMs * catchUpFraction, longestCatchUpMs));
      started(timer);
    }, delayMs);
    started(timer);
  };
  wait(ms);
  return { cancel: () => clearTimeout(timer) };
}
