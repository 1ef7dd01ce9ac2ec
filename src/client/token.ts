// The token that a client presents: a fixed string, or a function for tokens that expire.

import { type Clock, systemClock } from '../base/clock.js';
import { deferred } from '../base/deferred.js';

export type TokenSource = string | (() => string | Promise<string>);

export interface TokenLimits {
  /** How long to wait for the function. */
  readonly timeoutMs: number;
  readonly clock?: Clock | undefined;
}

export class Token {
  readonly #source: TokenSource | undefined;
  readonly #limits: TokenLimits;
  #last: string | undefined;

  constructor(source: TokenSource | undefined, limits: TokenLimits) {
    this.#source = source;
    this.#limits = limits;
  }

  /** The token presented last; undefined before the first. */
  get last(): string | undefined {
    return this.#last;
  }

  /** Calls the function; a string is returned as it is. Rejects when the function fails or takes too long. */
  async fresh(): Promise<string | undefined> {
    this.#last = typeof this.#source === 'function' ? await this.#ask(this.#source) : this.#source;
    return this.#last;
  }

  async #ask(source: () => string | Promise<string>): Promise<string> {
    const { clock = systemClock, timeoutMs } = this.#limits;
    const late = deferred<never>();
    const timer = clock.after(timeoutMs, () => late.reject(new Error(`no token within ${timeoutMs} ms`)));
    try {
      return await Promise.race([source(), late.promise]);
    } finally {
      timer.cancel();
    }
  }
}
