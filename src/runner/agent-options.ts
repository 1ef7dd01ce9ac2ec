// The options of a run.

import type { Clock } from '../base/clock.js';
import type { Client } from '../client/index.js';
import type { EnvPolicy } from '../protocol/index.js';
import type { AgentAdapter } from './agent-adapter.js';
import type { TurnResult } from './agent-event.js';
import type { SeenEvent } from './event-log.js';
import type { WatchdogLimits } from './watchdogs.js';

export interface AgentOptions {
  /** Where the program runs: in-process, on a server, over ssh. */
  readonly client: Client;
  readonly adapter: AgentAdapter;
  /** Absolute, on the machine that the program runs on. */
  readonly cwd: string;
  readonly prompt: string;
  /** Session to resume. */
  readonly resume?: string;
  /** What to do if that session no longer exists: give up, or start a new one and report that. `fail` when absent. */
  readonly ifDead?: 'fail' | 'startFresh';
  readonly args?: readonly string[];
  /** Overrides what the program inherits; variables that its adapter sets win. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * What to inherit from the machine that the program runs on, before `env` is applied; the core variables when absent, as for
   * `Client.start`.
   */
  readonly envPolicy?: EnvPolicy;
  /** `pty`: on a terminal of 200 columns and 50 rows. */
  readonly io?: 'pipe' | 'pty';
  /** Labels of the run, such as `{ story: '42', agent: 'coder' }`: its events, its log and its processes carry them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** For each timeout, 0 means no limit, which is also the default. */
  readonly idleTimeoutMs?: number;
  /** `output`: a program that works without printing anything also counts as idle. */
  readonly idleBy?: 'outputAndWork' | 'output';
  /** Time that a turn spends waiting for a permission or a rate limit does not count. */
  readonly turnTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  /** How long the program may take to exit once it has nothing left to do, before it is terminated. 30 s when absent; 0 means no limit. */
  readonly exitPatienceMs?: number;
  /** `wait`: wait until the rate limit is lifted, then resend the prompt. `end` when absent. */
  readonly onRateLimit?: 'end' | 'wait';
  /** Folder for the log file, which contains every event. No file when absent. */
  readonly logDir?: string;
  readonly clock?: Clock;
}

/** One prompt and everything that follows from it. */
export interface Turn {
  readonly number: number;
  /** The events of this turn, from its start to its end. */
  readonly events: AsyncIterable<SeenEvent>;
  readonly result: Promise<TurnResult>;
}

/** PATH, HOME and the like from the machine that the program runs on, plus the variables that the caller sets. */
export const defaultEnvPolicy: EnvPolicy = { inherit: 'core' };

/** Long enough for a program that is done to save its session or shut down its tool servers. */
const defaultExitPatienceMs = 30_000;

/** Every event carries the labels, so they must be short: enough for ten labels of one line each. */
const maxLabelsBytes = 1_024;

/** The options that are checked during a run. Undefined means no limit. */
export interface RunLimits extends WatchdogLimits {
  readonly exitPatienceMs: number | undefined;
}

type Timeouts = Pick<AgentOptions, 'idleTimeoutMs' | 'turnTimeoutMs' | 'totalTimeoutMs' | 'exitPatienceMs' | 'idleBy'>;

/** Throws a RangeError for a negative timeout or NaN. */
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

/** Throws a RangeError when the labels are too long or one has an empty name. */
export function checkLabels(labels: Readonly<Record<string, string>>): void {
  if (Object.hasOwn(labels, '')) throw new RangeError('a label must have a name');
  const bytes = new TextEncoder().encode(JSON.stringify(labels)).length;
  if (bytes > maxLabelsBytes) throw new RangeError(`labels must be at most ${maxLabelsBytes} bytes of JSON, got ${bytes}`);
}
