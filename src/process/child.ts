// What a spawned thing can do, whatever spawned it. Backends implement this; nothing above it knows descriptors or pids of helpers.

import type { Clock } from '../base/clock.js';
import type { Io, ResourceUse, Size, Stream } from '../protocol/index.js';

/** A fully resolved command; no policy left in it. */
export interface ResolvedCommand {
  /** The file to execute; absolute. */
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly io: Io;
  /** What the program reads from descriptor 3, to its end; the descriptor is closed when absent. */
  readonly fd3?: Uint8Array | undefined;
}

/** How the leader ended, as far as the operating system told. */
export type WaitStatus =
  | { readonly kind: 'code'; readonly code: number; readonly resources?: ResourceUse }
  | { readonly kind: 'signal'; readonly signal: string; readonly resources?: ResourceUse }
  | { readonly kind: 'lost' };

/** Called by a child, never before the call that spawned it has returned. */
export interface ChildEvents {
  /** Bytes as they came. They are only valid during the call: the buffer is used again. */
  output(stream: Stream, bytes: Uint8Array): void;
  /** Every process has closed this stream, the leader included; it may go on without it. Pipes only: a terminal has no such end. */
  streamEnded(stream: Stream): void;
  /** The leader has ended. Everything it wrote was handed to `output` before, unless `outputComplete` is false. */
  exited(status: WaitStatus, outputComplete: boolean): void;
  /** Nobody holds an output stream any more. Comes after `exited`; does not come when a descendant never lets go. */
  ended(): void;
}

/** The child's stdin at the level of the operating system: one write at a time, no queue. */
export interface ChildInput {
  /** Hands bytes over; `taken` is called once, when the kernel has all of them or with what ended stdin. */
  write(bytes: Uint8Array, taken: (error: Error | undefined) => void): void;
  /** End of input: closes a pipe, sends end-of-file to a terminal. */
  end(): void;
  /** Gives up whatever was not taken. */
  destroy(): void;
}

/** The output side, shared by pipes and terminals. */
export interface ChildOutput {
  /** Stop reading, so that a full pipe holds the child back. */
  hold(): void;
  resume(): void;
  /** The leader is dead: hand over what it wrote, held or not, and then call `drained` once. */
  drainLeader(drained: (outputComplete: boolean) => void): void;
  /** Gives up what has not come yet and frees the descriptors. */
  close(): void;
}

/** One living process of a tree. */
export interface TreeMember {
  readonly pid: number;
  /** Still in the leader's process group, so that a signal to the group reaches it. */
  readonly isInGroup: boolean;
}

export interface TreeLook {
  /** What lives of the tree, the leader included; zombies do not count. */
  readonly members: readonly TreeMember[];
  /** False when a living member may have been missed, so that an empty tree is not known to be gone. */
  readonly isCertain: boolean;
}

/** Everything that descends from one leader, found and signalled without ever touching a reused pid. */
export interface ProcessTree {
  /** Sends a signal to the process group, before returning while the leader is unreaped; false when nothing of the group is left. */
  signalGroup(signal: string): Promise<boolean>;
  /**
   * To the group while its leader is unreaped, and to each of these members that the group's signal does not reach. They must have been
   * looked up before: once their parents are dead they could not be told from strangers everywhere. False when one was gone already.
   */
  signal(members: readonly TreeMember[], signals: readonly string[]): boolean;
  /** `new` knows everything that is there now; `ofThisTurn` may share what another tree has caused to be read in this turn of the event loop. */
  look(freshness: 'new' | 'ofThisTurn'): Promise<TreeLook>;
  /** Kills members at the moment they are seen, for those that go on as their own child before a whole look is over. */
  chase(): void;
  /** The leader was reaped: from here on its pid may belong to another process. */
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
  /** Gives up output that has not come yet and frees every descriptor. Does not end the process. */
  close(): void;
}

/** Settings that the kernel or the C library know for a whole program only: a program of our own makes them, a library leaves them as they are. */
export interface ProgramSettings {
  /**
   * What becomes of processes that lose their parents. `adopt` makes them children of this program, which finds them at once on a machine of
   * any size and collects them when they end; it concerns everything that this program starts, with Sluice or not. `leave`, when absent,
   * lets them go where they would go anyway. Linux only.
   */
  readonly orphans?: 'adopt' | 'leave' | undefined;
  /** `tuned` gives freed output back to the system at once; `asIs` when absent. */
  readonly malloc?: 'asIs' | 'tuned' | undefined;
  /** Signals that children ignore. So does this program from then on, because a child inherits that and nothing else. Linux backend only. */
  readonly ignoredSignals?: readonly string[] | undefined;
}

export interface BackendOptions extends ProgramSettings {
  readonly clock: Clock;
}

/** A way to spawn children. Owns what all of them share, among it the guard that ends them when this program dies. */
export interface Backend {
  readonly name: 'linux' | 'portable';
  /** Throws `ExecError` spawnFailed when the command cannot run. */
  spawn(command: ResolvedCommand, events: ChildEvents): Child;
  /** Gives pages that malloc holds without using them back to the system, where it can be told to. Takes milliseconds. */
  returnFreePages?(): void;
  /** Call when every child has ended. */
  close(): Promise<void>;
}
