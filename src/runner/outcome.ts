// How a run ended, in one honest word.

import type { Ending } from '../protocol/index.js';
import type { Known } from './known.js';
import type { PriorSessions } from './prior-sessions.js';
import { hasExitedWell, problemOf } from './problem.js';
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
  /** The program ended before there was a session or an answer. */
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
  /** What went wrong, in words; never empty, and absent only from `completed`. */
  readonly problem?: string;
  /** Something worth knowing that does not change the outcome. */
  readonly note?: string;
  /** When a rate limit is lifted, in milliseconds since the Unix epoch. */
  readonly resetsAt?: number;
  /** Sessions the program had kept for this folder before the run; absent where they cannot be counted. */
  readonly priorSessions?: PriorSessions;
  /** Why the run's log is incomplete, as on a full disk; absent when it is whole, or none was asked for. */
  readonly logProblem?: string;
}

/** Why a run was ended from here. */
export type Verdict =
  | { readonly kind: 'interrupted' }
  /** The turns tell how it went; the program's exit is our doing. */
  | { readonly kind: 'stoppedBetweenTurns' }
  | {
      readonly kind: 'idleTimedOut' | 'timedOut';
      readonly watchdog: 'idle' | 'turn' | 'total';
      /** The limit that was exceeded. */
      readonly limitMs: number;
    };

export interface RunFacts extends Known {
  readonly verdict: Verdict | undefined;
  /** The rate limit that stood in the way of the last turn. */
  readonly block: Block | undefined;
}

export function outcomeOf(facts: RunFacts): Outcome {
  const kind = kindOf(facts);
  const { verdict, block, sessionId, exit, usage, note, priorSessions } = facts;
  return {
    kind,
    ...(verdict !== undefined && 'watchdog' in verdict ? { watchdog: verdict.watchdog } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(exit === undefined ? {} : { exit }),
    ...(usage === undefined ? {} : { usage }),
    ...(kind === 'completed' ? {} : { problem: problemOf(kind, facts) }),
    ...(note === undefined ? {} : { note }),
    ...(block?.resetsAt === undefined ? {} : { resetsAt: block.resetsAt }),
    ...(priorSessions === undefined ? {} : { priorSessions }),
  };
}

function kindOf(facts: RunFacts): OutcomeKind {
  const { verdict, exit, lastTurn, block, wasInterrupted = false, hasOverstayed = false } = facts;
  // Also for a run that was stopped: whether the program has ended was not seen.
  if (exit?.kind === 'lost' || facts.isServerLost === true) return 'lost';
  if (verdict !== undefined && verdict.kind !== 'stoppedBetweenTurns') return verdict.kind;
  if (!hasStarted(facts) && !(facts.hasPrinted === true && hasExitedWell(exit))) return 'neverStarted';
  if (lastTurn?.isError === true && wasInterrupted) return 'interrupted';
  if (lastTurn === undefined || lastTurn.isError) return block === undefined ? 'failed' : 'rateLimited';
  return exit === undefined || hasExitedWell(exit) || hasOverstayed || verdict !== undefined ? 'completed' : 'failed';
}

function hasStarted({ sessionId, hasAnswered, hasSpoken, isPromptUndelivered }: Known): boolean {
  return sessionId !== undefined || hasAnswered === true || hasSpoken === true || isPromptUndelivered === true;
}
