// A process tree whose members live and die as the test says. Nothing of it is real, so nothing real is signalled.

import type { ProcessTree, TreeMember } from '#src/process/child.js';

export class FakeProcessTree implements ProcessTree {
  living: TreeMember[];
  /** While set, looking at the tree fails, as it does when the machine runs out of descriptors. */
  isUnreadable = false;
  /** How often somebody looked. */
  looks = 0;
  readonly #signalled: (signal: string) => void;

  /** `signalled` is told of every signal to the group. */
  constructor(living: readonly TreeMember[], signalled: (signal: string) => void) {
    this.living = [...living];
    this.#signalled = signalled;
  }

  async signalGroup(signal: string): Promise<boolean> {
    this.#signalled(signal);
    if (this.isUnreadable) throw new Error('EMFILE');
    return this.living.some(({ isInGroup }) => isInGroup);
  }

  async members(): Promise<TreeMember[]> {
    this.looks += 1;
    if (this.isUnreadable) throw new Error('EMFILE');
    return [...this.living];
  }

  membersIn(): TreeMember[] {
    return [...this.living];
  }

  chase(): void {}

  leaderReaped(): void {}
}
