// What a run tells its caller. One tagged union for every agent program; a line that no adapter understood comes through whole.

import type { Outcome } from './outcome.js';
import type { PriorSessions } from './prior-sessions.js';
import type { Usage } from './usage.js';

/** What an adapter makes of a program's lines: the same words for every program. */
export type AdapterEvent =
  /** What the program or the run is about: a line for people. */
  | {
      readonly type: 'status';
      readonly status: string;
      /** Of interest until the next event only: a request goes out, tokens are being thought. A live view shows it, a transcript does not. */
      readonly isTransient?: true;
    }
  /** Known from the moment it is seen, so that a run can be resumed however it ends. */
  | { readonly type: 'session'; readonly sessionId: string; readonly model?: string }
  /** A piece of the answer, in order; the pieces of a turn make up the text. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'toolCall'; readonly callId: string; readonly name: string; readonly input: unknown }
  | { readonly type: 'toolResult'; readonly callId: string; readonly output: string; readonly isError: boolean }
  /** The program waits until it is answered with `allow` or `deny`. */
  | { readonly type: 'permission'; readonly requestId: string; readonly toolName: string; readonly input: unknown }
  /** The program no longer waits for the answer to this request. */
  | { readonly type: 'permissionWithdrawn'; readonly requestId: string }
  /** Running totals of the session: the latest counts, nothing is added up. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** `block`: nothing goes on before `resetsAt`. `warning`: a limit is near. */
  | {
      readonly type: 'rateLimit';
      readonly state: 'warning' | 'block';
      /** Milliseconds since the Unix epoch; absent when the program did not say. */
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
  /** JSON that the adapter does not know, whole, or a line that is no JSON. */
  | { readonly type: 'raw'; readonly stream: 'stdout' | 'stderr'; readonly line: unknown }
  /** The program is ready for the next prompt. */
  | { readonly type: 'turnEnded'; readonly result: TurnResult };

export interface TurnResult {
  readonly isError: boolean;
  /** In the program's own word, such as `completed`, `api_error` or `aborted_streaming`. */
  readonly reason: string;
  /** The answer, as the program sums it up. */
  readonly text: string;
  /** Of this turn; absent where it cannot be told, as in the first turn of a resumed session. */
  readonly usage?: Usage;
}

/** What happens in a run: what the program says, and what the run does. */
export type EventBody =
  | AdapterEvent
  | { readonly type: 'turnStarted'; readonly prompt: string }
  /** A process of the program is about to be started. */
  | {
      readonly type: 'launching';
      /** Without secrets, and with `<prompt>` in place of the prompt. */
      readonly argv: readonly string[];
      /** Absent where they cannot be counted. */
      readonly priorSessions?: PriorSessions;
    }
  | { readonly type: 'ended'; readonly outcome: Outcome };

/** An event of a run. */
export type AgentEvent = EventStamp & EventBody;

export interface EventStamp {
  /** From 1, without holes. */
  readonly seq: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The turn it belongs to, from 1; 0 before the first. */
  readonly turn: number;
  /** Of the run; absent when it has none. */
  readonly labels?: Readonly<Record<string, string>>;
}
