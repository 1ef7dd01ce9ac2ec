// A process often responds to a write within microseconds. If the event loop sleeps by then, the kernel has to wake it, and on a virtual
// machine the processor too, which takes longer than the response itself. So the event loop stays awake briefly after a write: an echo
// takes half the time, and less processor time as well.

import { availableParallelism } from 'node:os';

/** Twice the time that `cat` takes to respond. For a slower program this much processor time is wasted. */
const awakeMs = 0.1;

/** On a single processor the child could not run while the event loop spins. */
const isWorthwhile = availableParallelism() > 1;

let awakeUntil = 0;
let isAwake = false;

/** Call with each write to a process: for a moment the event loop polls without sleeping. */
export function spinBriefly(): void {
  if (!isWorthwhile) return;
  awakeUntil = performance.now() + awakeMs;
  if (isAwake) return;
  isAwake = true;
  setImmediate(look);
}

/** The event loop does not sleep while an immediate is pending. */
function look(): void {
  isAwake = performance.now() < awakeUntil;
  if (isAwake) setImmediate(look);
}
