// Delivers the events of all processes of a session to a watcher in the same program, without slowing the processes down.

import type { LogReader, ManagedProcess } from '../process/index.js';
import type { ProcessEvent } from '../protocol/index.js';
import { type Session, eventOf } from './session.js';

export class SessionWatch {
  readonly #listeners = new Set<(event: ProcessEvent) => void>();
  readonly #readers = new Map<ManagedProcess, LogReader>();
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Delivers events from now on, until disposed. */
  watch(listener: (event: ProcessEvent) => void): Disposable {
    this.#listeners.add(listener);
    for (const each of this.#session.processes.list()) if (!each.isClosed) this.follow(each, each.log.nextSeq - 1);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        for (const reader of this.#readers.values()) reader.close();
        this.#readers.clear();
      },
    };
  }

  /** Does nothing if the process is already followed or if there is no watcher. */
  follow(target: ManagedProcess, afterSeq: number): void {
    if (this.#listeners.size === 0 || this.#readers.has(target)) return;
    const reader = target.log.openViewer(afterSeq);
    this.#readers.set(target, reader);
    void this.#pump(target, reader);
  }

  async #pump(target: ManagedProcess, reader: LogReader): Promise<void> {
    for (let taken = await reader.next(); taken !== undefined; taken = await reader.next()) {
      const event = eventOf(target.id, taken.entry, taken.droppedBytes);
      for (const listener of this.#listeners) listener(event);
      if (event.type === 'closed') break;
    }
    reader.close();
    if (this.#readers.get(target) === reader) this.#readers.delete(target);
  }
}
