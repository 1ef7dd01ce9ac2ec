// Waits for a condition, not for time.

import { setTimeout as sleep } from 'node:timers/promises';

/** Far beyond anything a healthy machine needs, so that only a real failure gets there. */
const defaultPatienceMs = 20_000;

/** Runs `check` until it stops throwing; then gives what it returned. Gives its last error when it never does. */
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

/** Resolves with the value once it was the same for several looks in a row. */
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
