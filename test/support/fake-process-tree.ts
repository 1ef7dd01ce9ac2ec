// A process tree whose members live and die as the test says. Nothing in it is real, so no real process is signalled.

import type { ProcessTree, TreeLook, TreeMember } from '#src/process/child.js';

export class FakeProcessTree implements ProcessTree {
  living: TreeMember[];
  /** While true, looking at the tree fails, as it does when the machine runs out of descriptors. */
  isUnreadable = false;
  /** While false, a look may have missed a member. */
  isCertain = true;
  /** How often the tree was looked at. */
  looks = 0;
  readonly #signalled: (signal: string) => void;

  /** `signalled` is called with every signal sent to the group. */
  constructor(living: readonly TreeMember[], signalled: (signal: string) => void) {
    this.living = [...living];
    this.#signalled = signalled;
  }

  async signalGroup(signal: string): Promise<boolean> {
    this.#signalled(signal);
    if (this.isUnreadable) throw new Error('EMFILE');
    return this.living.some(({ isInGroup }) => isInGroup);
  }

  signal(members: readonly TreeMember[], signals: readonly string[]): boolean {
    signals.forEach((signal) => this.#signalled(signal));
    for (const { pid, isInGroup } of members) if (!isInGroup) signals.forEach((signal) => process.kill(pid, signal));
    return true;
  }

  async look(): Promise<TreeLook> {
    this.looks += 1;
    if (this.isUnreadable) throw new Error('EMFILE');
    return { members: [...this.living], isCertain: this.isCertain };
  }

  chase(): void {}

  leaderReaped(): void {}
}
