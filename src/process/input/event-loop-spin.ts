// The answer to a write often comes within microseconds. Whoever has gone to sleep by then must be woken by the kernel, and on a virtual
// machine so must the processor: that takes longer than the answer itself. So the event loop stays awake for a moment: an echo takes half
// the time, and less processor time as well.

import { availableParallelism } from 'node:os';

/** As long as `cat` takes to answer, and as long again. A program that takes longer has cost this much for nothing. */
const awakeMs = 0.1;

/** On a single processor nothing could answer meanwhile. */
const isWorthwhile = availableParallelism() > 1;

let awakeUntil = 0;
let isAwake = false;

/** To be called with each write to a process: for the next moment the event loop looks for what comes without sleeping. */
export function spinBriefly(): void {
  if (!isWorthwhile) return;
  awakeUntil = performance.now() + awakeMs;
  if (isAwake) return;
  isAwake = true;
  setImmediate(look);
}

/** The loop does not sleep while something is to be done right after it has looked. */
function look(): void {
  isAwake = performance.now() < awakeUntil;
  if (isAwake) setImmediate(look);
}
