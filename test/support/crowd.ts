// Processes unrelated to Sluice: hundreds of idle ones, and loops that start one short process after another.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Load that shares the machine with the test. Each part is a shell in its own session that ends with the scope and reaps its own children.
 */
export class Crowd implements AsyncDisposable {
  readonly #leaders: ChildProcess[] = [];

  /** Starts `count` sleeping processes. */
  static async idle(count: number): Promise<Crowd> {
    const crowd = new Crowd();
    await crowd.#start(`trap : TERM; i=0; while [ $i -lt ${count} ]; do sleep 1000 & i=$((i + 1)); done; echo; wait; wait`);
    return crowd;
  }

  /** Starts loops that each repeatedly run a process which ends immediately. */
  static async churn(loops: number): Promise<Crowd> {
    const crowd = new Crowd();
    for (let index = 0; index < loops; index += 1) await crowd.#start('trap "exit 0" TERM; echo; while :; do /bin/true; done');
    return crowd;
  }

  /** Resolves when the script has printed something. */
  async #start(script: string): Promise<void> {
    const leader = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    this.#leaders.push(leader);
    leader.unref();
    if (leader.stdout !== null) await once(leader.stdout, 'data');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const leader of this.#leaders) {
      const exit = once(leader, 'exit');
      leader.ref();
      process.kill(-(leader.pid ?? 0), 'SIGTERM');
      await exit;
      leader.stdout?.destroy();
    }
  }
}
