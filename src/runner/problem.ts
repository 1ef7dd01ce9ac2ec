// What went wrong in a run, in a sentence for people. There is always one: where the program has said nothing, what was seen is told.

import type { Ending } from '../protocol/index.js';
import type { TurnResult } from './agent-event.js';
import type { OutcomeKind, RunFacts, Verdict } from './outcome.js';

/** Never empty. */
export function problemOf(kind: Exclude<OutcomeKind, 'completed'>, facts: RunFacts): string {
  const told = [facts.turn?.problem, facts.lastWords].find((words) => words !== undefined && words.trim() !== '')?.trim();
  switch (kind) {
    case 'idleTimedOut':
    case 'timedOut':
      return [expiry(facts.verdict), told].filter((part) => part !== undefined).join('; ');
    case 'interrupted':
      return told ?? 'the run was interrupted before its turns had ended';
    case 'rateLimited':
      return told ?? 'a rate limit stands in the way';
    case 'lost':
      return told ?? 'the server was lost, and with it the knowledge of how the program ended';
    case 'failed':
    case 'neverStarted':
      // The last words of a program that exited well are no explanation by themselves.
      if (told !== undefined && facts.turn?.problem === undefined && hasExitedWell(facts.exit))
        return `${ending(facts)}: ${told}`;
      return told ?? ending(facts);
  }
}

/** Of a turn that ended with an error. */
export function failureOf({ text, reason }: TurnResult): string {
  return [text, reason].find((words) => words.trim() !== '') ?? 'the turn failed, and the program did not say why';
}

function expiry(verdict: Verdict | undefined): string {
  if (verdict === undefined || !('watchdog' in verdict)) return 'time was up';
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
      return `was ended by ${exit.signal}`;
    case 'lost':
      return 'was lost';
  }
}
