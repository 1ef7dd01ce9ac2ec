// Connects a spawned process with its input, output and tree, in the same way for every backend.

import type { Size } from '../../protocol/index.js';
import type { Child, ChildEvents, ChildInput, ChildOutput, ProcessTree, WaitStatus } from '../child.js';

/** What a backend provides. */
export interface ChildParts {
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly input: ChildInput | undefined;
  readonly output: ChildOutput;
  readonly resize?: ((size: Size) => void) | undefined;
}

export class WiredChild implements Child {
  readonly pid: number;
  readonly tree: ProcessTree;
  readonly input: ChildInput | undefined;
  readonly resize: ((size: Size) => void) | undefined;
  readonly #output: ChildOutput;
  readonly #events: ChildEvents;

  constructor({ pid, tree, input, output, resize }: ChildParts, events: ChildEvents) {
    this.pid = pid;
    this.tree = tree;
    this.input = input;
    this.resize = resize;
    this.#output = output;
    this.#events = events;
  }

  hold(): void {
    this.#output.hold();
  }

  resume(): void {
    this.#output.resume();
  }

  close(): void {
    this.input?.destroy();
    this.#output.close();
  }

  /** The backend has reaped the leader: its pid is free, its stdin has no reader, and its remaining output must be drained. */
  leaderReaped(status: WaitStatus): void {
    this.tree.leaderReaped();
    this.input?.destroy();
    this.#output.drainLeader((outputComplete) => this.#events.exited(status, outputComplete));
  }
}
