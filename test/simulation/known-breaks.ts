// Scenarios that once broke a promise, reduced to what is needed. Each is run with many seeds, so that it still hits the weak spot when the
// order of messages changes.

import type { Action, Scenario, Step } from './scenario.js';
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
const losesNextAnswer: Step = { kind: 'cut', cut: clean, lane: 'down', messages: 0, moment: 'before', times: 1 };

/** Long enough for everything before it to have arrived. */
const pauseMs = 10_000;

export const knownBreaks: readonly { readonly promise: string; readonly scenario: Omit<Scenario, 'luck'> }[] = [
  {
    promise: 'a start that is resent at the limit of processes is answered with the process that it started',
    scenario: plan({ maxProcesses: 1 }, [after(pauseMs, losesNextAnswer), after(0, { kind: 'start', script: program })]),
  },
  {
    promise: 'a start whose connection ends just as it arrives loses none of the output',
    scenario: plan({}, [
      after(pauseMs, { kind: 'cut', cut: clean, lane: 'up', messages: 1, moment: 'after', times: 1 }),
      after(0, { kind: 'start', script: writer }),
      after(0, { kind: 'unreachable', ms: 9_000 }),
    ]),
  },
  {
    promise: 'a process stuck in the kernel is lost and closed once, even if it ends after all',
    scenario: plan({}, [after(0, { kind: 'start', script: { ...program, onTerm: 'ignores', stuckMs: 12_000 }, timeoutMs: 300 })]),
  },
  {
    promise: 'a process stuck in the kernel forever does not keep its session from closing',
    scenario: plan({}, [after(0, { kind: 'start', script: { ...program, stuckMs: 10_000_000, onTerm: 'ignores' } })]),
  },
  {
    promise: 'a release that is resent gets the same answer',
    scenario: plan({}, [
      after(0, { kind: 'start', script: program }),
      after(pauseMs, losesNextAnswer),
      after(0, { kind: 'release' }),
    ]),
  },
  {
    promise: 'a process that is forgotten while its owner is unreachable is still reported up to its end',
    scenario: plan({ maxClosed: 0 }, [
      after(0, { kind: 'start', script: { ...writer, pieces: [{ stream: 'stdout', bytes: 70_000, afterMs: 11_000 }] } }),
      after(pauseMs, { kind: 'stall', lane: 'down', ms: 60_000 }),
      after(45_000, { kind: 'cut', cut: clean, lane: 'up', messages: 0, moment: 'before', times: 1 }),
      after(0, { kind: 'status' }),
    ]),
  },
  {
    promise: 'a start that is resent long after the process has ended does not start it again',
    scenario: plan({}, [
      after(pauseMs, { kind: 'stall', lane: 'down', ms: 60_000 }),
      after(0, { kind: 'start', script: { ...program, end: { kind: 'code', code: 0 } } }),
      after(45_000, { kind: 'cut', cut: clean, lane: 'up', messages: 0, moment: 'before', times: 1 }),
      after(0, { kind: 'status' }),
    ]),
  },
  {
    promise: 'a viewer that detaches and attaches again sees all of the output',
    scenario: plan({}, [
      after(0, { kind: 'start', script: { ...writer, pieces: writer.pieces.map((piece) => ({ ...piece, afterMs: 400 })) } }),
      viewerAfter(2_500, { kind: 'attach', role: 'watch', afterSeq: 0 }),
      viewerAfter(500, { kind: 'stall', lane: 'down', ms: 3_000 }),
      viewerAfter(1_500, { kind: 'detach' }),
      viewerAfter(0, { kind: 'attach', role: 'watch', afterSeq: 0 }),
    ]),
  },
  {
    promise: 'a refused write stays refused when it is resent, because later ones were accepted',
    scenario: plan({}, [
      after(0, { kind: 'start', script: { ...program, stdin: 'read' } }),
      after(pauseMs, losesNextAnswer),
      after(0, { kind: 'write', sizes: [10_000, 10_000, 100] }),
      after(0, { kind: 'unreachable', ms: 9_000 }),
    ]),
  },
];

/** A scenario with an owner and a viewer. */
function plan(limits: Partial<Scenario['limits']>, actions: readonly Action[]): Omit<Scenario, 'luck'> {
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

function after(afterMs: number, step: Step): Action {
  return { afterMs, client: 0, target: 0, step };
}

function viewerAfter(afterMs: number, step: Step): Action {
  return { ...after(afterMs, step), client: 1 };
}
