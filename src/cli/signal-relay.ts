// Signals meant for the command and not for us. Caught before it is started, so that none can arrive in between and end only us.

import type { ProcessHandle } from '../client/index.js';
import { onSignals } from './inherited-signals.js';

/** Forwarded instead of ending us; we end when the command does. */
const relayed = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'] as const;

export class SignalRelay implements Disposable {
  #pass: (signal: NodeJS.Signals) => void;
  #early: NodeJS.Signals[] = [];
  readonly #listening: Disposable;

  constructor() {
    this.#pass = (signal) => this.#early.push(signal);
    this.#listening = onSignals([...relayed, 'SIGTSTP'], (signal) => this.#pass(signal));
  }

  /** Forwards the signals received so far, then further ones, until disposed. */
  passTo(child: ProcessHandle): Disposable {
    this.#pass = (signal) => void this.#deliver(child, signal);
    for (const signal of this.#early) this.#pass(signal);
    this.#early = [];
    return this;
  }

  async #deliver(child: ProcessHandle, signal: NodeJS.Signals): Promise<void> {
    // The command is stopped together with us. It is in its own process group, where SIGTSTP has no effect.
    const isStop = signal === 'SIGTSTP';
    await child.signal(isStop ? 'SIGSTOP' : signal).catch(() => {}); // it is gone, and its ending is reported elsewhere
    if (isStop) process.kill(process.pid, 'SIGSTOP');
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}
