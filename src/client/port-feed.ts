// Listening ports of this client's processes, as events. Each reader is told how the ports differ from what it was told before, so a slow
// reader or a lost connection never makes events pile up.

import type { ListeningPort } from '../protocol/index.js';
import type { ExecLink } from './exec-link.js';

/** A process of this client's user has started or stopped to listen. */
export type PortEvent = { readonly type: 'opened' | 'closed' } & ListeningPort;

/** Watches while at least one reader is open. */
export class PortFeed {
  readonly #link: ExecLink;
  readonly #wakers = new Set<() => void>();
  #known: ReadonlyMap<string, ListeningPort> = new Map();
  #watching: Promise<unknown> | undefined;
  #listening: Disposable | undefined;

  constructor(link: ExecLink) {
    this.#link = link;
  }

  /** Begins with the ports that are open already. Ends with the client; leaving the loop stops it. */
  async *events(): AsyncGenerator<PortEvent> {
    let wake = (): void => {};
    const waker = () => wake();
    const ended = this.#link.ended.then(() => 'ended' as const);
    this.#wakers.add(waker);
    try {
      this.#watching ??= this.#watch();
      await this.#watching;
      let told: ReadonlyMap<string, ListeningPort> = new Map();
      for (;;) {
        const changed = new Promise<'changed'>((resolve) => (wake = () => resolve('changed')));
        const known = this.#known;
        for (const [key, port] of told) if (!known.has(key)) yield { type: 'closed', ...port };
        for (const [key, port] of known) if (!told.has(key)) yield { type: 'opened', ...port };
        told = known;
        if (known === this.#known && (await Promise.race([changed, ended])) === 'ended') return;
      }
    } finally {
      this.#wakers.delete(waker);
      if (this.#wakers.size === 0) this.#unwatch();
    }
  }

  async #watch(): Promise<void> {
    this.#listening ??= this.#link.listen({
      portsChanged: ({ opened, closed }) => {
        const gone = new Set(closed.map(keyOf));
        this.#set([...this.#known.values(), ...opened].filter((port) => !gone.has(keyOf(port))));
      },
      // The new connection knows of no watch; if it is lost at once, the next one asks again.
      reconnected: () => void this.#watch().catch(() => {}),
    });
    const { ports } = await this.#link.service['ports/watch']({});
    this.#set(ports);
  }

  #unwatch(): void {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    const isWatching = this.#watching !== undefined;
    this.#watching = undefined;
    this.#known = new Map();
    if (isWatching) void this.#link.service['ports/unwatch']({}).catch(() => {}); // the client may have ended
  }

  #set(ports: readonly ListeningPort[]): void {
    this.#known = new Map(ports.map((port) => [keyOf(port), port]));
    for (const wake of this.#wakers) wake();
  }
}

function keyOf({ port, address, pid, processId, sessionId }: ListeningPort): string {
  return JSON.stringify([port, address, pid, processId, sessionId]);
}
