// What a run can be told.

import type { Clock } from '../base/clock.js';
import type { Client } from '../client/index.js';
import type { EnvPolicy } from '../protocol/index.js';
import type { AgentAdapter } from './agent-adapter.js';
import type { TurnResult } from './agent-event.js';
import type { SeenEvent } from './event-log.js';
import type { WatchdogLimits } from './watchdogs.js';

export interface AgentOptions {
  /** Where it runs: in-process, on a server, over ssh. */
  readonly client: Client;
  readonly adapter: AgentAdapter;
  /** Absolute, on the machine it runs on. */
  readonly cwd: string;
  readonly prompt: string;
  /** Session to go on with. */
  readonly resume?: string;
  /** What to do when that session is dead: give up, or start afresh and say so. `fail` when absent. */
  readonly ifDead?: 'fail' | 'startFresh';
  readonly args?: readonly string[];
  /** Laid over what the program inherits, beside what its adapter sets. */
  readonly env?: Readonly<Record<string, string>>;
  /** What to inherit from the machine it runs on, under `env`; the core variables when absent, as for `Client.start`. */
  readonly envPolicy?: EnvPolicy;
  readonly io?: 'pipe' | 'pty';
  readonly idleTimeoutMs?: number;
  /** `output`: a program that works without a word is idle too. */
  readonly idleBy?: 'outputAndWork' | 'output';
  readonly turnTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  /** `wait`: until a rate limit is lifted, then put the same prompt again. `end` when absent. */
  readonly onRateLimit?: 'end' | 'wait';
  /** Folder for the file with every event. No file when absent. */
  readonly logDir?: string;
  readonly clock?: Clock;
}

/** One prompt and its consequences. */
export interface Turn {
  readonly number: number;
  /** Its own events, from its start to its end. */
  readonly events: AsyncIterable<SeenEvent>;
  readonly result: Promise<TurnResult>;
}

export function watchdogLimits({
  idleTimeoutMs,
  turnTimeoutMs,
  totalTimeoutMs,
  idleBy = 'outputAndWork',
}: AgentOptions): WatchdogLimits {
  return { idleTimeoutMs, turnTimeoutMs, totalTimeoutMs, idleBy };
}
