// When a file was changed, in whole microseconds. Node gives the time as a fraction, which cannot hold nanoseconds; rounding it the same
// way everywhere makes a copy's time compare equal to the original's.

import type { Stats } from 'node:fs';

export function modifiedAtUs(stats: Stats): number {
  return Math.floor(stats.mtimeMs * 1_000);
}

/** In seconds, as node:fs takes it: inside the microsecond, since Node may round down, and not before 1970, which Node takes for now. */
export function secondsOf(us: number): number {
  return (Math.max(us, 0) + 0.3) / 1e6;
}
