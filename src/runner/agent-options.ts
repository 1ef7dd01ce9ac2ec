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
  /** `pty`: on a terminal of 200 columns and 50 rows. */
  readonly io?: 'pipe' | 'pty';
  /** Names for the run, such as `{ story: '42', agent: 'coder' }`: its events, its log and its processes carry them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Of each timeout, 0 is none, as when it is absent. */
  readonly idleTimeoutMs?: number;
  /** `output`: a program that works without a word is idle too. */
  readonly idleBy?: 'outputAndWork' | 'output';
  /** The time in which a turn waits for a permission or a rate limit does not count. */
  readonly turnTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  /** How long the program may take to exit once it has nothing more to do; then it is ended. 30 s when absent, 0 is without limit. */
  readonly exitPatienceMs?: number;
  /** `wait`: until a rate limit is lifted, then resend the prompt. `end` when absent. */
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

/** PATH, HOME and the like of the machine it runs on, and what the caller sets. */
export const defaultEnvPolicy: EnvPolicy = { inherit: 'core' };

/** Patience for a program that has nothing more to do: it may save its session, or end the servers of its tools. */
const defaultExitPatienceMs = 30_000;

/** The labels come with every event, so they must be short: enough for ten of a line each. */
const maxLabelsBytes = 1_024;

/** What a run has to ask of its options at every turn. Undefined is without limit. */
export interface RunLimits extends WatchdogLimits {
  readonly exitPatienceMs: number | undefined;
}

type Timeouts = Pick<AgentOptions, 'idleTimeoutMs' | 'turnTimeoutMs' | 'totalTimeoutMs' | 'exitPatienceMs' | 'idleBy'>;

/** Throws a RangeError for what is no time. */
export function runLimits(options: Timeouts): RunLimits {
  const { idleBy = 'outputAndWork', exitPatienceMs = defaultExitPatienceMs } = options;
  return {
    idleBy,
    idleTimeoutMs: limitIn('idleTimeoutMs', options.idleTimeoutMs),
    turnTimeoutMs: limitIn('turnTimeoutMs', options.turnTimeoutMs),
    totalTimeoutMs: limitIn('totalTimeoutMs', options.totalTimeoutMs),
    exitPatienceMs: limitIn('exitPatienceMs', exitPatienceMs),
  };
}

function limitIn(name: string, ms: number | undefined): number | undefined {
  if (ms === undefined || ms === 0 || ms === Infinity) return undefined;
  if (ms > 0) return ms;
  throw new RangeError(`${name} must be 0 or more milliseconds, got ${ms}`);
}

/** Throws a RangeError when there are too many, and for one without a name. */
export function checkLabels(labels: Readonly<Record<string, string>>): void {
  if (Object.hasOwn(labels, '')) throw new RangeError('a label must have a name');
  const bytes = new TextEncoder().encode(JSON.stringify(labels)).length;
  if (bytes > maxLabelsBytes) throw new RangeError(`labels must be at most ${maxLabelsBytes} bytes of JSON, got ${bytes}`);
}
