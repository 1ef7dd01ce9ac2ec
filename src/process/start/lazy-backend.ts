// A backend that is made when it is first needed: its native part takes 12 ms to load and 2 MB, which a server that runs nothing can spare.

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

  /** Makes it now; throws when it cannot be made. */
  make(): Backend {
    this.#made ??= this.#create();
    return this.#made;
  }
}
