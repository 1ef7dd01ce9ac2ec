// The events that a run reports to its caller. One tagged union for every agent program; a line that no adapter understands is passed on
// whole.

import type { Outcome } from './outcome.js';
import type { PriorSessions } from './prior-sessions.js';
import type { Usage } from './usage.js';

/** What an adapter makes of a program's lines: the same events for every program. */
export type AdapterEvent =
  /** What the program or the run is doing: a line for people. */
  | {
      readonly type: 'status';
      readonly status: string;
      /**
       * Relevant only until the next event, such as a request being sent or a count of thinking tokens. A live view shows it, a transcript
       * does not.
       */
      readonly isTransient?: true;
    }
  /** Reported as soon as it is known, so that a run can be resumed however it ends. */
  | { readonly type: 'session'; readonly sessionId: string; readonly model?: string }
  /** A piece of the answer; the pieces of a turn, in order, make up its text. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'toolCall'; readonly callId: string; readonly name: string; readonly input: unknown }
  | { readonly type: 'toolResult'; readonly callId: string; readonly output: string; readonly isError: boolean }
  /** The program waits for an answer, `allow` or `deny`. */
  | { readonly type: 'permission'; readonly requestId: string; readonly toolName: string; readonly input: unknown }
  /** The program no longer waits for the answer to this request. */
  | { readonly type: 'permissionWithdrawn'; readonly requestId: string }
  /** Running totals of the session: each event replaces the previous one. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** `block`: no request succeeds before `resetsAt`. `warning`: a limit is near. */
  | {
      readonly type: 'rateLimit';
      readonly state: 'warning' | 'block';
      /** Milliseconds since the Unix epoch; absent when the program does not report it. */
      readonly resetsAt?: number;
      readonly limit?: string;
    }
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly maxAttempts?: number;
      readonly delayMs?: number;
      readonly problem: string;
    }
  /** JSON that the adapter does not know, whole, or a line that is not JSON. */
  | { readonly type: 'raw'; readonly stream: 'stdout' | 'stderr'; readonly line: unknown }
  /** The program is ready for the next prompt. */
  | { readonly type: 'turnEnded'; readonly result: TurnResult };

export interface TurnResult {
  readonly isError: boolean;
  /** In the program's words, such as `completed`, `api_error` or `aborted_streaming`. */
  readonly reason: string;
  /** The final answer, as the program reports it. */
  readonly text: string;
  /** Of this turn alone; absent when it cannot be determined, as in the first turn of a resumed session. */
  readonly usage?: Usage;
}

/** What happens in a run: the program's events and the run's own. */
export type EventBody =
  | AdapterEvent
  | { readonly type: 'turnStarted'; readonly prompt: string }
  /** A process of the program is about to be started. */
  | {
      readonly type: 'launching';
      /** Without secrets, and with `<prompt>` in place of the prompt. */
      readonly argv: readonly string[];
      /** Absent when they cannot be counted. */
      readonly priorSessions?: PriorSessions;
    }
  | { readonly type: 'ended'; readonly outcome: Outcome };

export type AgentEvent = EventStamp & EventBody;

export interface EventStamp {
  /** From 1, without gaps. */
  readonly seq: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The turn that it belongs to, from 1; 0 before the first. */
  readonly turn: number;
  /** The labels of the run; absent when it has none. */
  readonly labels?: Readonly<Record<string, string>>;
}
