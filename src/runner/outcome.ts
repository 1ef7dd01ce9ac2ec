// How a run ended: one kind, and the facts behind it.

import type { Ending } from '../protocol/index.js';
import type { Known } from './known.js';
import type { PriorSessions } from './prior-sessions.js';
import { hasExitedWell, problemOf } from './problem.js';
import type { Block } from './rate-limit.js';
import type { Usage } from './usage.js';

export type OutcomeKind =
  /** The last turn succeeded and the program exited. */
  | 'completed'
  /** The last turn ended with an error, the program ended in the middle of one, or its prompt could not be written. */
  | 'failed'
  /** Stopped by the caller before every requested turn had ended. */
  | 'interrupted'
  | 'idleTimedOut'
  /** A turn or the whole run took too long. */
  | 'timedOut'
  /** The program's provider accepts no requests before a given time. */
  | 'rateLimited'
  /** The program ended before it had a session or an answer. */
  | 'neverStarted'
  /** The server was lost, so it is unknown how the program ended. */
  | 'lost';

export interface Outcome {
  readonly kind: OutcomeKind;
  /** The watchdog that ended the run, if one did. */
  readonly watchdog?: 'idle' | 'turn' | 'total';
  readonly sessionId?: string;
  /** The ending of the last process; absent when none was started. */
  readonly exit?: Ending;
  /** Usage of the session, including resumed parts if the program counts them. */
  readonly usage?: Usage;
  /** What went wrong, in words; never empty, and absent only from `completed`. */
  readonly problem?: string;
  /** Something worth knowing that does not change the outcome. */
  readonly note?: string;
  /** When the rate limit is lifted, in milliseconds since the Unix epoch. */
  readonly resetsAt?: number;
  /** Sessions that the program had stored for this folder before the run; absent when they cannot be counted. */
  readonly priorSessions?: PriorSessions;
  /** Why the run's log is incomplete, for example a full disk; absent when it is complete or was not requested. */
  readonly logProblem?: string;
}

/** Why the runner ended a run. */
export type Verdict =
  | { readonly kind: 'interrupted' }
  /** The turns decide the outcome; the program's exit status is our doing. */
  | { readonly kind: 'stoppedBetweenTurns' }
  | {
      readonly kind: 'idleTimedOut' | 'timedOut';
      readonly watchdog: 'idle' | 'turn' | 'total';
      /** The limit that was exceeded. */
      readonly limitMs: number;
    };

/** How a turn went. */
export interface TurnFacts {
  readonly isError: boolean;
  /** Interrupted by the caller. */
  readonly isInterrupted: boolean;
  /** The last problem that the program reported, or that prevented its answer. */
  readonly problem: string | undefined;
  /** The rate limit that blocked it. */
  readonly block: Block | undefined;
}

export interface RunFacts extends Known {
  readonly verdict: Verdict | undefined;
  /** The last turn; undefined when none has begun. */
  readonly turn: TurnFacts | undefined;
}

export function outcomeOf(facts: RunFacts): Outcome {
  const kind = kindOf(facts);
  const { verdict, turn, sessionId, exit, usage, note, priorSessions } = facts;
  const resetsAt = turn?.block?.resetsAt;
  return {
    kind,
    ...(verdict !== undefined && 'watchdog' in verdict ? { watchdog: verdict.watchdog } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(exit === undefined ? {} : { exit }),
    ...(usage === undefined ? {} : { usage }),
    ...(kind === 'completed' ? {} : { problem: problemOf(kind, facts) }),
    ...(note === undefined ? {} : { note }),
    ...(resetsAt === undefined ? {} : { resetsAt }),
    ...(priorSessions === undefined ? {} : { priorSessions }),
  };
}

function kindOf({ verdict, exit, turn, progress, hasOverstayed = false, isServerLost = false }: RunFacts): OutcomeKind {
  // Even for a stopped run: the end of the program was not observed.
  if (exit?.kind === 'lost' || isServerLost) return 'lost';
  if (verdict !== undefined && verdict.kind !== 'stoppedBetweenTurns') return verdict.kind;
  if (progress === 'none' || (progress === 'printed' && !hasExitedWell(exit))) return 'neverStarted';
  if (turn === undefined) return 'failed';
  if (turn.isError) return turn.isInterrupted ? 'interrupted' : turn.block === undefined ? 'failed' : 'rateLimited';
  return exit === undefined || hasExitedWell(exit) || hasOverstayed || verdict !== undefined ? 'completed' : 'failed';
}
