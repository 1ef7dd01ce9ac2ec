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

/** The longest delay a Node timer takes; a longer one would fire at once, so it is waited for in parts. 2^31-1 ms is 24.8 days. */
const longestDelayMs = 2 ** 31 - 1;

/** So late is a timer only when the program stood still: stopped, paused with its container, or busy with one thing. */
const lateMs = 20;

/**
 * Timers come before everything else that has been waiting meanwhile: output of a process that is thought silent, the answer of a peer that
 * is thought dead, a client that is back in time. So that they count, a late one waits for a fraction of its lateness, and at most this long.
 */
const longestCatchUpMs = 100;
const catchUpFraction = 0.2;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.trunc(steadyMs()),
  after: (ms, fire) => (ms === 0 && typeof setImmediate === 'function' ? startAtOnce(fire) : startTimer(ms, fire, () => {})),
  // Browsers give a number, which cannot hold a program open anyway.
  afterIdle: (ms, fire) => startTimer(ms, fire, (timer) => typeof timer === 'object' && timer.unref()),
};

/** Of what nobody sets. Node has to load `performance`, for 1 ms of every start, and has the same clock under another name. */
function steadyMs(): number {
  if (typeof process === 'undefined' || typeof process.hrtime !== 'function') return performance.now();
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** After everything that is at hand. Node makes a timer of 0 ms one of 1 ms, and browsers have nothing shorter. */
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
