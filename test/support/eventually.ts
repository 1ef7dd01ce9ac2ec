// Waits for a condition, not for time.

import { setTimeout as sleep } from 'node:timers/promises';

/** Far longer than a healthy machine needs, so that only a real failure gets there. */
const defaultPatienceMs = 20_000;

/** Runs `check` until it stops throwing and returns its result. Throws its last error when time runs out. */
export async function eventually<T>(check: () => T | Promise<T>, patienceMs = defaultPatienceMs): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(10);
  }
}

/** Resolves with the value once several consecutive looks have returned the same one. */
export async function settled<T>(look: () => T | Promise<T>): Promise<T> {
  let last = await look();
  for (let same = 0; same < 5;) {
    await sleep(20);
    const now = await look();
    same = Object.is(now, last) ? same + 1 : 0;
    last = now;
  }
  return last;
}
