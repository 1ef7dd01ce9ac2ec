// What went wrong in a run, in a sentence for people. Never empty: if the program reported nothing, it describes how the program ended.

import type { Ending } from '../protocol/index.js';
import type { TurnResult } from './agent-event.js';
import type { OutcomeKind, RunFacts, Verdict } from './outcome.js';

/** Never empty. */
export function problemOf(kind: Exclude<OutcomeKind, 'completed'>, facts: RunFacts): string {
  const reported = [facts.turn?.problem, facts.lastWords].find((words) => words !== undefined && words.trim() !== '')?.trim();
  switch (kind) {
    case 'idleTimedOut':
    case 'timedOut':
      return [expiry(facts.verdict), reported].filter((part) => part !== undefined).join('; ');
    case 'interrupted':
      return reported ?? 'the run was interrupted before its turns had ended';
    case 'rateLimited':
      return reported ?? 'blocked by a rate limit';
    case 'lost':
      return reported ?? 'the server was lost, so it is unknown how the program ended';
    case 'failed':
    case 'neverStarted':
      // The last output of a program that exited with 0 is not an explanation on its own.
      if (reported !== undefined && facts.turn?.problem === undefined && hasExitedWell(facts.exit))
        return `${ending(facts)}: ${reported}`;
      return reported ?? ending(facts);
  }
}

/** Why a turn ended with an error. */
export function failureOf({ text, reason }: TurnResult): string {
  return [text, reason].find((words) => words.trim() !== '') ?? 'the turn failed and the program gave no reason';
}

function expiry(verdict: Verdict | undefined): string {
  if (verdict === undefined || !('watchdog' in verdict)) return 'a time limit was exceeded';
  const limit = `${verdict.limitMs / 1_000} s`;
  switch (verdict.watchdog) {
    case 'idle':
      return `nothing happened for ${limit}`;
    case 'turn':
      return `the turn took longer than ${limit}`;
    case 'total':
      return `the run took longer than ${limit}`;
  }
}

function ending({ exit, turn, hasOverstayed, note }: RunFacts): string {
  if (hasOverstayed === true && note !== undefined) return note;
  const when = turn?.isError === false ? 'after its turn' : 'before its turn had ended';
  return exit === undefined ? 'the program could not be started' : `the program ${exitWords(exit)} ${when}`;
}

export function hasExitedWell(exit: Ending | undefined): boolean {
  return exit?.kind === 'code' && exit.code === 0;
}

function exitWords(exit: Ending): string {
  switch (exit.kind) {
    case 'code':
      return `exited with code ${exit.code}`;
    case 'signal':
      return `was killed by ${exit.signal}`;
    case 'lost':
      return 'was lost';
  }
}
