// Which ports the processes of one caller listen on, and what has changed since the last look. Asks for the owner of a socket when it is
// new, not at every look.

import type { ListeningPort } from '../../protocol/index.js';
import type { ListeningSocket } from './listening-sockets.js';
import type { PortReader } from './port-poll.js';
import { type Caller, findOwners, hasProcesses } from './port-owners.js';

export interface PortChange {
  readonly opened: ListeningPort[];
  readonly closed: ListeningPort[];
}

/** How often the owner of a new socket is sought: its process may be moving to another parent during a look. */
const mostLooks = 3;

export class PortWatch implements PortReader {
  readonly #caller: Caller;
  readonly #changed: (change: PortChange) => Promise<void>;
  /** Sockets of the caller's processes. An owner that has been found stays, even if its process is forgotten before the socket closes. */
  #own = new Map<string, ListeningPort>();
  /** Other sockets, and how often their owner was sought. */
  #others = new Map<string, number>();
  #looking: Promise<unknown> = Promise.resolve();
  #isTelling = false;

  constructor(caller: Caller, changed: (change: PortChange) => Promise<void>) {
    this.#caller = caller;
    this.#changed = changed;
  }

  get ports(): ListeningPort[] {
    return [...this.#own.values()];
  }

  /** Not while its caller lags: changes then do not pile up, and the next look reports them together. */
  isInterested(): boolean {
    return !this.#isTelling && (this.#own.size > 0 || hasProcesses(this.#caller));
  }

  async look(sockets: readonly ListeningSocket[]): Promise<void> {
    const { opened, closed } = await this.update(sockets);
    if (opened.length > 0 || closed.length > 0) void this.#tell({ opened, closed });
  }

  /** One look after another, because each builds on the one before. */
  update(sockets: readonly ListeningSocket[]): Promise<PortChange> {
    const update = this.#looking.then(() => this.#update(sockets));
    this.#looking = update.catch(() => {}); // reported to the caller
    return update;
  }

  async #tell(change: PortChange): Promise<void> {
    this.#isTelling = true;
    await this.#changed(change);
    this.#isTelling = false;
  }

  async #update(sockets: readonly ListeningSocket[]): Promise<PortChange> {
    const current = new Map(sockets.map((socket) => [keyOf(socket), socket]));
    const closed = [...this.#own].filter(([key]) => !current.has(key)).map(([, port]) => port);
    const own = new Map([...this.#own].filter(([key]) => current.has(key)));
    const others = new Map([...this.#others].filter(([key]) => current.has(key)));
    const unknown = [...current].filter(([key]) => !own.has(key) && (others.get(key) ?? 0) < mostLooks);
    const opened: ListeningPort[] = [];
    const sought = unknown.map(([, socket]) => socket);
    const { byInode, isCertain } = sought.length === 0 ? noOwners : await findOwners(this.#caller, sought);
    for (const [key, { port, address, inode }] of unknown) {
      const owner = byInode.get(inode);
      if (owner === undefined) others.set(key, (others.get(key) ?? 0) + (isCertain ? 1 : 0));
      else {
        others.delete(key);
        own.set(key, { port, address, ...owner });
        opened.push({ port, address, ...owner });
      }
    }
    this.#own = own;
    this.#others = others;
    return { opened, closed };
  }
}

const noOwners = { byInode: new Map<string, never>(), isCertain: true };

/** With the address, because the number of a closed socket may be used again. */
function keyOf({ inode, address, port }: ListeningSocket): string {
  return `${inode} ${address} ${port}`;
}
