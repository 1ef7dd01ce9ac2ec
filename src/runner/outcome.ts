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

/** How a turn went. */
export interface TurnFacts {
  readonly isError: boolean;
  /** By the caller. */
  readonly isInterrupted: boolean;
  /** The last problem that the program reported, or that stood in the way of its answer. */
  readonly problem: string | undefined;
  /** The rate limit that stood in its way. */
  readonly block: Block | undefined;
}

export interface RunFacts extends Known {
  readonly verdict: Verdict | undefined;
  /** The last one; undefined when none has begun. */
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
  // Also for a run that was stopped: whether the program has ended was not seen.
  if (exit?.kind === 'lost' || isServerLost) return 'lost';
  if (verdict !== undefined && verdict.kind !== 'stoppedBetweenTurns') return verdict.kind;
  if (progress === 'none' || (progress === 'printed' && !hasExitedWell(exit))) return 'neverStarted';
  if (turn === undefined) return 'failed';
  if (turn.isError) return turn.isInterrupted ? 'interrupted' : turn.block === undefined ? 'failed' : 'rateLimited';
  return exit === undefined || hasExitedWell(exit) || hasOverstayed || verdict !== undefined ? 'completed' : 'failed';
}
