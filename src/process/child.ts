// What every spawned child can do, whichever backend spawned it. Code above this interface knows neither descriptors nor helper pids.

import type { Clock } from '../base/clock.js';
import type { Io, ResourceUse, Size, Stream } from '../protocol/index.js';

/** A fully resolved command: all policies have been applied. */
export interface ResolvedCommand {
  /** The file to execute; absolute. */
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly io: Io;
  /** What the program reads from descriptor 3, followed by end-of-file; the descriptor is closed when absent. */
  readonly fd3?: Uint8Array | undefined;
}

/** How the leader ended, as reported by the operating system; `lost` when it reported nothing. */
export type WaitStatus =
  | { readonly kind: 'code'; readonly code: number; readonly resources?: ResourceUse }
  | { readonly kind: 'signal'; readonly signal: string; readonly resources?: ResourceUse }
  | { readonly kind: 'lost' };

/** Callbacks of a child. None is called before `spawn` has returned. */
export interface ChildEvents {
  /** Bytes as they were read. They are valid only during the call, because the buffer is reused. */
  output(stream: Stream, bytes: Uint8Array): void;
  /** Every process has closed this stream, the leader included, which may still be running. Pipes only: a terminal has no such end. */
  streamEnded(stream: Stream): void;
  /** The leader has ended. Everything it wrote has already been passed to `output`, unless `outputComplete` is false. */
  exited(status: WaitStatus, outputComplete: boolean): void;
  /** No process holds an output stream open any longer. Called after `exited`; never called if a descendant keeps a stream open. */
  ended(): void;
}

/** The child's stdin at the level of the operating system: one write at a time, no queue. */
export interface ChildInput {
  /** Writes bytes; `taken` is called once, either when the kernel has accepted all of them or with the error that ended stdin. */
  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void;
  /** End of input: closes a pipe, sends end-of-file to a terminal. */
  end(): void;
  /** Discards bytes that the kernel has not accepted. */
  destroy(): void;
}

/** The output side, shared by pipes and terminals. */
export interface ChildOutput {
  /** Stops reading, so that a full pipe blocks the child. */
  hold(): void;
  resume(): void;
  /** The leader is dead: pass on everything it wrote, even while held, then call `drained` once. */
  drainLeader(drained: (outputComplete: boolean) => void): void;
  /** Discards output that has not been read yet and frees the descriptors. */
  close(): void;
}

/** One live process of a tree. */
export interface TreeMember {
  readonly pid: number;
  /** Still in the leader's process group, so a signal to the group reaches it. */
  readonly isInGroup: boolean;
}

export interface TreeLook {
  /** All live processes of the tree, the leader included; zombies do not count. */
  readonly members: readonly TreeMember[];
  /** False when a live member may have been missed, so an empty `members` does not prove that the tree is gone. */
  readonly isCertain: boolean;
}

/** The leader and all of its descendants, found and signalled without ever touching a reused pid. */
export interface ProcessTree {
  /** Signals the process group; synchronously while the leader is unreaped. False when the group is empty. */
  signalGroup(signal: string): Promise<boolean>;
  /**
   * Signals the group while its leader is unreaped, and each of these members that the group's signal does not reach. They must have been
   * looked up beforehand: once their parents are dead, not every platform can tell them from unrelated processes. False when one of them
   * had already gone.
   */
  signal(members: readonly TreeMember[], signals: readonly string[]): boolean;
  /** `new` sees every process that exists now; `ofThisTurn` may reuse what was read for another tree in this turn of the event loop. */
  look(freshness: 'new' | 'ofThisTurn'): Promise<TreeLook>;
  /** Kills members the moment they are seen, to catch programs that keep forking and exiting faster than a complete look takes. */
  chase(): void;
  /** The leader has been reaped: from now on its pid may belong to another process. */
  leaderReaped(): void;
}

export interface Child {
  readonly pid: number;
  readonly tree: ProcessTree;
  /** Absent when stdin was started closed. */
  readonly input: ChildInput | undefined;
  hold(): void;
  resume(): void;
  /** Terminals only; pipes have no size. */
  readonly resize: ((size: Size) => void) | undefined;
  /** Discards output that has not been read yet and frees every descriptor. Does not end the process. */
  close(): void;
}

/** Settings that the kernel or the C library has only for a whole program: Sluice's own program sets them, a library leaves them alone. */
export interface ProgramSettings {
  /**
   * What happens to processes whose parent dies. `adopt` makes them children of this program, which then finds them quickly however many
   * processes the machine runs, and reaps them; it affects everything that this program starts, through Sluice or not. `leave`, the
   * default, lets the kernel reparent them as usual. Linux only.
   */
  readonly orphans?: 'adopt' | 'leave' | undefined;
  /** `tuned` returns the memory of freed output to the system immediately; `asIs` when absent. */
  readonly malloc?: 'asIs' | 'tuned' | undefined;
  /** Signals that children ignore. This program ignores them too, since a child can only inherit an ignored signal. Linux backend only. */
  readonly ignoredSignals?: readonly string[] | undefined;
}

export interface BackendOptions extends ProgramSettings {
  readonly clock: Clock;
}

/** A way to spawn children. Owns what they share, including the watchdog that ends them when this program dies. */
export interface Backend {
  readonly name: 'linux' | 'portable';
  /** Throws `ExecError` spawnFailed when the command cannot run. */
  spawn(command: ResolvedCommand, events: ChildEvents): Child;
  /** Returns pages that malloc holds but does not use to the system, where the C library can do that. Takes milliseconds. */
  returnFreePages?(): void;
  /** Call when every child has ended. */
  close(): Promise<void>;
}
