// How a run ended, in one honest word.

import type { Ending } from '../protocol/index.js';
import type { Usage } from './usage.js';

export type OutcomeKind =
  /** The last turn ended well and the program ended. */
  | 'completed'
  /** The last turn ended with an error, or the program ended in the middle of one. */
  | 'failed'
  /** Stopped by the caller. */
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
}

/** Why a run was ended from here. */
export interface Verdict {
  readonly kind: OutcomeKind;
  readonly watchdog?: 'idle' | 'turn' | 'total';
}

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
}

export interface RunFacts extends Known {
  readonly verdict: Verdict | undefined;
  /** The rate limit that stood in the way of the last turn. */
  readonly block: { readonly resetsAt: number | undefined } | undefined;
}

export function outcomeOf(facts: RunFacts): Outcome {
  const kind = kindOf(facts);
  const { verdict, block, sessionId, exit, usage, problem } = facts;
  return {
    kind,
    ...(verdict?.watchdog === undefined ? {} : { watchdog: verdict.watchdog }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(exit === undefined ? {} : { exit }),
    ...(usage === undefined ? {} : { usage }),
    ...(problem === undefined || kind === 'completed' ? {} : { problem }),
    ...(block?.resetsAt === undefined ? {} : { resetsAt: block.resetsAt }),
  };
}

function kindOf({
  verdict,
  sessionId,
  hasAnswered = false,
  wasInterrupted = false,
  exit,
  lastTurn,
  block,
}: RunFacts): OutcomeKind {
  if (verdict !== undefined) return verdict.kind;
  if (exit?.kind === 'lost') return 'lost';
  if (sessionId === undefined && !hasAnswered) return 'neverStarted';
  if (lastTurn?.isError === true && wasInterrupted) return 'interrupted';
  if (lastTurn === undefined || lastTurn.isError) return block === undefined ? 'failed' : 'rateLimited';
  return exit === undefined || (exit.kind === 'code' && exit.code === 0) ? 'completed' : 'failed';
}
