// Signals that mean the command and not us. Caught before it is started, so that none can come in between and end us alone.

import type { ProcessHandle } from '../client/index.js';
import { onSignals } from './inherited-signals.js';

/** Passed on instead of ending us; we end when the command does. */
const relayed = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'] as const;

export class SignalRelay implements Disposable {
  #pass: (signal: NodeJS.Signals) => void;
  #early: NodeJS.Signals[] = [];
  readonly #listening: Disposable;

  constructor() {
    this.#pass = (signal) => this.#early.push(signal);
    this.#listening = onSignals([...relayed, 'SIGTSTP'], (signal) => this.#pass(signal));
  }

  /** What came before, then what comes; until disposed. */
  passTo(child: ProcessHandle): Disposable {
    this.#pass = (signal) => void this.#deliver(child, signal);
    for (const signal of this.#early) this.#pass(signal);
    this.#early = [];
    return this;
  }

  async #deliver(child: ProcessHandle, signal: NodeJS.Signals): Promise<void> {
    // Stopped together with us. The command is in a group of its own, where SIGTSTP has no effect.
    const isStop = signal === 'SIGTSTP';
    await child.signal(isStop ? 'SIGSTOP' : signal).catch(() => {}); // its ending is reported
    if (isStop) process.kill(process.pid, 'SIGSTOP');
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}
