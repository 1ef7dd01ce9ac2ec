// A backend that is created on first use: its native part takes 12 ms to load and 2 MB, which a server that runs nothing need not spend.

import type { Backend, Child, ChildEvents, ResolvedCommand } from '../child.js';

export class LazyBackend implements Backend {
  readonly #create: () => Backend;
  #made: Backend | undefined;

  constructor(create: () => Backend) {
    this.#create = create;
  }

  get name(): Backend['name'] {
    return this.make().name;
  }

  spawn(command: ResolvedCommand, events: ChildEvents): Child {
    return this.make().spawn(command, events);
  }

  returnFreePages(): void {
    this.#made?.returnFreePages?.();
  }

  async close(): Promise<void> {
    await this.#made?.close();
  }

  /** Creates the backend now; throws when that fails. */
  make(): Backend {
    this.#made ??= this.#create();
    return this.#made;
  }
}
