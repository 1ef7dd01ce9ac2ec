// What may happen in a simulation, as data that fast-check generates and shrinks: the clients, their steps, the faults and when they
// happen.

import * as fc from 'fast-check';
import type { Piece, Script } from './script.js';
import type { Cut, Direction } from './wire.js';

export type Step = Fault | ClientCall | HandleCall;

/** Something that goes wrong. */
export type Fault =
  | {
      readonly kind: 'cut';
      readonly cut: Cut;
      readonly lane: Direction;
      /** How many messages pass on the lane before the cut. */
      readonly messages: number;
      readonly moment: 'before' | 'after';
      /** How many times in a row. */
      readonly times: number;
    }
  | { readonly kind: 'stall'; readonly lane: Direction; readonly ms: number }
  | { readonly kind: 'unreachable'; readonly ms: number }
  | { readonly kind: 'blind'; readonly ms: number };

/** A call on a client. */
export type ClientCall =
  | { readonly kind: 'start'; readonly script: Script; readonly timeoutMs?: number; readonly idleTimeoutMs?: number }
  | { readonly kind: 'exec'; readonly script: Script }
  | { readonly kind: 'attach'; readonly role: 'watch' | 'drive'; readonly afterSeq: number }
  | { readonly kind: 'list' | 'status' | 'leave' };

/** A call on a process handle. */
export type HandleCall =
  | { readonly kind: 'write'; readonly sizes: readonly number[] }
  | { readonly kind: 'closeStdin' | 'snapshot' | 'release' | 'detach' }
  | { readonly kind: 'read'; readonly waitMs: number }
  | { readonly kind: 'wait'; readonly timeoutMs: number | undefined; readonly until: 'exited' | 'closed' }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'terminate'; readonly forceAfterMs: number }
  | { readonly kind: 'pace'; readonly pace: Pace };

const faults: ReadonlySet<string> = new Set<Fault['kind']>(['cut', 'stall', 'unreachable', 'blind']);
const clientCalls: ReadonlySet<string> = new Set<ClientCall['kind']>(['start', 'exec', 'attach', 'list', 'status', 'leave']);

export function isFault(step: Step): step is Fault {
  return faults.has(step.kind);
}

export function isClientCall(step: Step): step is ClientCall {
  return clientCalls.has(step.kind);
}

/** How fast a reader takes its events. */
export type Pace = 'fast' | 'slow' | 'stopped';

export interface Action {
  /** Delay before it. */
  readonly afterMs: number;
  readonly client: number;
  /** Selects one of the processes that it could apply to. */
  readonly target: number;
  readonly step: Step;
}

export interface Scenario {
  /** Seed of everything that is left to chance. */
  readonly luck: number;
  /** Whether each client's session survives its connection. */
  readonly clients: readonly ('resumable' | 'bound')[];
  readonly limits: {
    readonly windowBytes: number;
    readonly retainedBytes: number;
    readonly stdinCapBytes: number;
    readonly maxProcesses: number;
    readonly maxClosed: number;
  };
  readonly actions: readonly Action[];
}

const pieceSize = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 200 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1_000, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 40_000, max: 90_000 }) },
);
const shortMs = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }) });
const longMs = fc.oneof({ weight: 4, arbitrary: shortMs }, { weight: 1, arbitrary: fc.integer({ min: 100, max: 4_000 }) });
const outageMs = fc.constantFrom(0, 50, 1_000, 9_000, 20_000, 45_000);

const pieces = (maxLength: number): fc.Arbitrary<Piece[]> =>
  fc.array(fc.record({ stream: fc.constantFrom('stdout', 'stderr'), bytes: pieceSize, afterMs: shortMs }), { maxLength });

const onTerm = fc.constantFrom('dies', 'dies', 'cleansUp', 'ignores');
const stuckMs = fc.oneof(
  { weight: 30, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constantFrom(2_000, 12_000, 10_000_000) },
);

const script: fc.Arbitrary<Script> = fc.record({
  io: fc.constantFrom('pipe', 'pipe', 'pipe', 'pty'),
  stdin: fc.constantFrom('closed', 'read', 'read', 'echoed', 'echoed', 'ignored', 'shut'),
  readBytes: fc.constantFrom(50, 4_000, 100_000),
  pieces: pieces(12),
  end: fc.oneof(
    fc.record({ kind: fc.constant('code' as const), code: fc.constantFrom(0, 0, 1, 7) }),
    fc.record({ kind: fc.constant('signal' as const), signal: fc.constant('SIGSEGV') }),
    fc.record({ kind: fc.constant('endOfInput' as const) }),
    fc.record({ kind: fc.constant('stays' as const) }),
  ),
  onTerm,
  stuckMs,
  descendant: fc.option(fc.record({ pieces: pieces(4), livesMs: fc.constantFrom(10, 500, 5_000, 100_000), onTerm, stuckMs }), {
    nil: undefined,
    freq: 4,
  }),
  spawn: fc.oneof(
    { weight: 20, arbitrary: fc.constant('works' as const) },
    { weight: 1, arbitrary: fc.constant('fails' as const) },
  ),
});

const cut: fc.Arbitrary<Cut> = fc.record({
  seenBy: fc.constantFrom('both', 'client', 'server'),
  underWay: fc.constantFrom('lost', 'arrives'),
  otherAfterMs: fc.constantFrom(0, 1, 30, 500, 15_000, 50_000),
});
const lane: fc.Arbitrary<Direction> = fc.constantFrom('up', 'down');
const kinds = <const Kind extends string>(...names: Kind[]) => fc.constantFrom(...names).map((kind) => ({ kind }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        script,
        timeouts: fc.constantFrom({}, {}, {}, {}, {}, {}, { timeoutMs: 300 }, { idleTimeoutMs: 200 }),
      })
      .map(({ script: what, timeouts }) => ({ kind: 'start' as const, script: what, ...timeouts })),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('exec' as const), script }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      sizes: fc.array(fc.oneof(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1_000, max: 15_000 })), {
        minLength: 1,
        maxLength: 6,
      }),
    }),
  },
  { weight: 4, arbitrary: kinds('closeStdin', 'list', 'snapshot', 'status') },
  { weight: 2, arbitrary: kinds('release', 'release', 'detach', 'leave') },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('read' as const), waitMs: fc.constantFrom(0, 100, 5_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      timeoutMs: fc.constantFrom(undefined, 0, 1_000),
      until: fc.constantFrom('exited', 'closed'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('signal' as const),
      signal: fc.constantFrom('SIGUSR1', 'SIGUSR1', 'SIGINT', 'SIGSTOP', 'SIGCONT', 'SIGTERM', 'SIGKILL'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('terminate' as const), forceAfterMs: fc.constantFrom(0, 50, 2_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('attach' as const),
      role: fc.constantFrom('watch', 'watch', 'drive'),
      afterSeq: fc.constantFrom(0, 0, 0, 3, 50),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pace' as const), pace: fc.constantFrom('fast', 'slow', 'stopped') }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('cut' as const),
      cut,
      lane,
      messages: fc.integer({ min: 0, max: 6 }),
      moment: fc.constantFrom('before', 'after'),
      times: fc.constantFrom(1, 1, 1, 2, 4),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('stall' as const), lane, ms: outageMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unreachable' as const), ms: outageMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('blind' as const), ms: fc.constantFrom(10, 500, 7_000) }) },
);

const kib = 1024;

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  luck: fc.nat(),
  clients: fc.array(fc.constantFrom('resumable', 'resumable', 'resumable', 'bound'), { minLength: 1, maxLength: 3, size: 'max' }),
  limits: fc.record({
    windowBytes: fc.constantFrom(128 * kib, 160 * kib),
    retainedBytes: fc.constantFrom(64 * kib, 256 * kib),
    stdinCapBytes: fc.constantFrom(16 * kib, 24 * kib, 256 * kib),
    maxProcesses: fc.constantFrom(3, 100, 100),
    // High enough that no process is forgotten before a lost start is resent: that could not be told from a new start.
    maxClosed: fc.constant(100),
  }),
  actions: fc.array(fc.record({ afterMs: longMs, client: fc.nat(5), target: fc.nat(5), step }), {
    maxLength: 50,
    size: 'max',
  }),
});
