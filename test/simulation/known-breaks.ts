// Scenarios in which a promise was once broken, cut down to what it took. Each is played with many kinds of luck, so that it
// still hits its mark when the order of messages changes.

import type { Action, Deed, Scenario } from './scenario.js';
import type { Script } from './script.js';
import type { Cut } from './wire.js';

const program: Script = {
  io: 'pipe',
  stdin: 'closed',
  readBytes: 4_000,
  pieces: [],
  end: { kind: 'stays' },
  onTerm: 'dies',
  stuckMs: 0,
  descendant: undefined,
  spawn: 'works',
};

const writer: Script = {
  ...program,
  pieces: Array.from({ length: 12 }, () => ({ stream: 'stdout', bytes: 15_000, afterMs: 1 })),
  end: { kind: 'code', code: 0 },
};

const clean: Cut = { seenBy: 'both', underWay: 'lost', otherAfterMs: 0 };
const losesNextAnswer: Deed = { kind: 'cut', cut: clean, lane: 'down', messages: 0, moment: 'before', times: 1 };

/** Long enough for everything before to have arrived. */
const pauseMs = 10_000;

export const knownBreaks: readonly { readonly promise: string; readonly scenario: Omit<Scenario, 'luck'> }[] = [
  {
    promise: 'a start that is sent again at the limit of processes is answered by the process it started',
    scenario: told({ maxProcesses: 1 }, [after(pauseMs, losesNextAnswer), after(0, { kind: 'start', script: program })]),
  },
  {
    promise: 'a start whose connection ends in the very moment it arrives loses nothing of what the process writes',
    scenario: told({}, [
      after(pauseMs, { kind: 'cut', cut: clean, lane: 'up', messages: 1, moment: 'after', times: 1 }),
      after(0, { kind: 'start', script: writer }),
      after(0, { kind: 'unreachable', ms: 9_000 }),
    ]),
  },
  {
    promise: 'a process stuck in the kernel is lost and closed once, also when it ends after all',
    scenario: told({}, [after(0, { kind: 'start', script: { ...program, onTerm: 'ignores', stuckMs: 12_000 }, timeoutMs: 300 })]),
  },
  {
    promise: 'a process stuck in the kernel for ever does not keep its session from closing',
    scenario: told({}, [after(0, { kind: 'start', script: { ...program, stuckMs: 10_000_000, onTerm: 'ignores' } })]),
  },
  {
    promise: 'a release that is sent again is answered like the first',
    scenario: told({}, [
      after(0, { kind: 'start', script: program }),
      after(pauseMs, losesNextAnswer),
      after(0, { kind: 'release' }),
    ]),
  },
  {
    promise: 'a process that is forgotten while its owner cannot be reached is told of to its end',
    scenario: told({ maxClosed: 0 }, [
      after(0, { kind: 'start', script: { ...writer, pieces: [{ stream: 'stdout', bytes: 70_000, afterMs: 11_000 }] } }),
      after(pauseMs, { kind: 'stall', lane: 'down', ms: 60_000 }),
      after(45_000, { kind: 'cut', cut: clean, lane: 'up', messages: 0, moment: 'before', times: 1 }),
      after(0, { kind: 'status' }),
    ]),
  },
  {
    promise: 'a start that is sent again long after the process has ended does not start it again',
    scenario: told({}, [
      after(pauseMs, { kind: 'stall', lane: 'down', ms: 60_000 }),
      after(0, { kind: 'start', script: { ...program, end: { kind: 'code', code: 0 } } }),
      after(45_000, { kind: 'cut', cut: clean, lane: 'up', messages: 0, moment: 'before', times: 1 }),
      after(0, { kind: 'status' }),
    ]),
  },
  {
    promise: 'who leaves a process and attaches to it again sees all of it',
    scenario: told({}, [
      after(0, { kind: 'start', script: { ...writer, pieces: writer.pieces.map((piece) => ({ ...piece, afterMs: 400 })) } }),
      viewerAfter(2_500, { kind: 'attach', role: 'watch', afterSeq: 0 }),
      viewerAfter(500, { kind: 'stall', lane: 'down', ms: 3_000 }),
      viewerAfter(1_500, { kind: 'detach' }),
      viewerAfter(0, { kind: 'attach', role: 'watch', afterSeq: 0 }),
    ]),
  },
  {
    promise: 'a write that was refused stays refused when it is sent again, because later ones were taken',
    scenario: told({}, [
      after(0, { kind: 'start', script: { ...program, stdin: 'read' } }),
      after(pauseMs, losesNextAnswer),
      after(0, { kind: 'write', sizes: [10_000, 10_000, 100] }),
      after(0, { kind: 'unreachable', ms: 9_000 }),
    ]),
  },
];

/** Owner and viewer. */
function told(limits: Partial<Scenario['limits']>, actions: readonly Action[]): Omit<Scenario, 'luck'> {
  const kib = 1024;
  return {
    clients: ['resumable', 'resumable'],
    limits: {
      windowBytes: 128 * kib,
      retainedBytes: 64 * kib,
      stdinCapBytes: 16 * kib,
      maxProcesses: 100,
      maxClosed: 100,
      ...limits,
    },
    actions: [...actions, after(pauseMs, { kind: 'list' })],
  };
}

function after(afterMs: number, deed: Deed): Action {
  return { afterMs, client: 0, target: 0, deed };
}

function viewerAfter(afterMs: number, deed: Deed): Action {
  return { ...after(afterMs, deed), client: 1 };
}
