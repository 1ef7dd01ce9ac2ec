// How a run ended, in one honest word.

import type { Ending } from '../protocol/index.js';
import type { Block } from './rate-limit.js';
import type { Usage } from './usage.js';

export type OutcomeKind =
  /** The last turn ended well and the program ended. */
  | 'completed'
  /** The last turn ended with an error, the program ended in the middle of one, or its prompt could not be written. */
  | 'failed'
  /** Stopped by the caller before every turn asked for had ended. */
  | 'interrupted'
  | 'idleTimedOut'
  /** A turn or the whole run took too long. */
  | 'timedOut'
  /** The program's provider lets nothing through before a given time. */
  | 'rateLimited'
  /** The program ended before there was a session. */
  | 'neverStarted'
  /** The server was lost, and with it the knowledge of how the program ended. */
  | 'lost';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** Which watchdog, when one ended the run. */
  readonly watchdog?: 'idle' | 'turn' | 'total';
  readonly sessionId?: string;
  /** Of the last process; absent when none was started. */
  readonly exit?: Ending;
  /** Of the session, resumed parts included where the program counts them. */
  readonly usage?: Usage;
  /** The last problem the program told of, or the end of its stderr. */
  readonly problem?: string;
  /** When a rate limit is lifted, in milliseconds since the Unix epoch. */
  readonly resetsAt?: number;
  /** Why the run's log is incomplete, as on a full disk; absent when it is whole, or none was asked for. */
  readonly logProblem?: string;
}

/** Why a run was ended from here. */
export type Verdict =
  | { readonly kind: 'interrupted' }
  /** The turns tell how it went; the program's exit is our doing. */
  | { readonly kind: 'stoppedBetweenTurns' }
  | { readonly kind: 'idleTimedOut' | 'timedOut'; readonly watchdog: 'idle' | 'turn' | 'total' };

/** What became known in the course of a run. */
export interface Known {
  sessionId?: string;
  usage?: Usage;
  problem?: string;
  exit?: Ending;
  /** It has ended a turn: a program without sessions has started too. */
  hasAnswered?: boolean;
  lastTurn?: { readonly isError: boolean };
  /** The caller interrupted the last turn. */
  wasInterrupted?: boolean;
  /** The program ran, and the prompt could not be written to it. */
  isPromptUndelivered?: boolean;
  /** The server is out of reach for good, with the program started or not. */
  isServerLost?: boolean;
}

export interface RunFacts extends Known {
  readonly verdict: Verdict | undefined;
  /** The rate limit that stood in the way of the last turn. */
  readonly block: Block | undefined;
}

export function outcomeOf(facts: RunFacts): Outcome {
  const kind = kindOf(facts);
  const { verdict, block, sessionId, exit, usage, problem } = facts;
  return {
    kind,
    ...(verdict !== undefined && 'watchdog' in verdict ? { watchdog: verdict.watchdog } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(exit === undefined ? {} : { exit }),
    ...(usage === undefined ? {} : { usage }),
    ...(problem === undefined || kind === 'completed' ? {} : { problem }),
    ...(block?.resetsAt === undefined ? {} : { resetsAt: block.resetsAt }),
  };
}

function kindOf(facts: RunFacts): OutcomeKind {
  const { verdict, exit, lastTurn, block, isPromptUndelivered = false, wasInterrupted = false } = facts;
  // Also for a run that was stopped: whether the program has ended was not seen.
  if (exit?.kind === 'lost' || facts.isServerLost === true) return 'lost';
  if (verdict !== undefined && verdict.kind !== 'stoppedBetweenTurns') return verdict.kind;
  const hasStarted = facts.sessionId !== undefined || facts.hasAnswered === true || isPromptUndelivered;
  if (!hasStarted) return 'neverStarted';
  if (lastTurn?.isError === true && wasInterrupted) return 'interrupted';
  if (lastTurn === undefined || lastTurn.isError) return block === undefined ? 'failed' : 'rateLimited';
  const hasEndedWell = exit === undefined || (exit.kind === 'code' && exit.code === 0);
  return hasEndedWell || verdict !== undefined ? 'completed' : 'failed';
}
