// Records requests that the gate refused. The log gets the first refusal of each address in a window and the number of further ones, so
// that an attacker cannot flood it; the metrics count every refusal.

import type { Clock, Timer } from '../base/clock.js';
import type { Logger } from '../base/logger.js';
import { refusalLogLimits } from './config.js';
import type { Metrics } from './metrics.js';

export interface RefusedRequest {
  /** IP address of the peer. */
  readonly address: string;
  readonly status: number;
  /** The gate's own text, which contains no part of a token. */
  readonly problem: string;
}

interface Context {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export class RefusalLog {
  readonly #context: Context;
  /** Refusals in this window that have not been logged yet, by address. */
  readonly #unlogged = new Map<string, number>();
  /** The total for addresses that no longer fit in the table. */
  #unloggedOfOthers = 0;
  #window: Timer | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  add({ address, status, problem }: RefusedRequest): void {
    const { clock, logger, metrics } = this.#context;
    metrics.refused(status);
    this.#window ??= clock.afterIdle(refusalLogLimits.windowMs, () => this.flush());
    const unlogged = this.#unlogged.get(address);
    if (unlogged !== undefined) this.#unlogged.set(address, unlogged + 1);
    else if (this.#unlogged.size >= refusalLogLimits.maxAddresses) this.#unloggedOfOthers += 1;
    else {
      this.#unlogged.set(address, 0);
      logger.info('request refused', { address, status, problem });
    }
  }

  /** Ends the window and logs the number of further refusals. */
  flush(): void {
    this.#window?.cancel();
    this.#window = undefined;
    const { logger } = this.#context;
    for (const [address, refusals] of this.#unlogged) {
      if (refusals > 0) logger.info('more requests refused', { address, refusals });
    }
    if (this.#unloggedOfOthers > 0) {
      logger.info('more requests refused', { address: 'other addresses', refusals: this.#unloggedOfOthers });
    }
    this.#unlogged.clear();
    this.#unloggedOfOthers = 0;
  }
}
