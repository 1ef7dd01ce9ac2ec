// What holds claude up: rate limits of the account and errors of the model's server.

import type { AgentSaid } from '../agent-event.js';
import { type JsonObject, numberIn, objectIn, stringIn } from './json-members.js';

/** Seconds since the Unix epoch that can be meant: from 2001 on, and below what milliseconds would be. */
const plausibleSeconds = { from: 1e9, below: 1e11 };

/** `allowed` comes with ordinary requests and is no limit. A status that is not known is neither taken for a block nor hidden. */
export function rateLimitIn(json: JsonObject): AgentSaid[] | undefined {
  const limits = objectIn(json, 'rate_limit_info');
  switch (stringIn(limits, 'status') ?? '') {
    case 'allowed':
      return [{ type: 'status', status: 'rate limit: allowed', isTransient: true }];
    case 'allowed_warning':
      return [{ type: 'rateLimit', state: 'warning', ...resetOf(limits) }];
    case 'rejected':
      // Beyond the limit, but paid for apart: requests go through.
      return [{ type: 'rateLimit', state: limits?.['isUsingOverage'] === true ? 'warning' : 'block', ...resetOf(limits) }];
    default:
      return undefined;
  }
}

function resetOf(limits: JsonObject | undefined): { resetsAt?: number; limit?: string } {
  const [seconds, limit] = [numberIn(limits, 'resetsAt'), stringIn(limits, 'rateLimitType')];
  const isPlausible = seconds !== undefined && seconds >= plausibleSeconds.from && seconds < plausibleSeconds.below;
  return { ...(isPlausible ? { resetsAt: seconds * 1_000 } : {}), ...(limit === undefined ? {} : { limit }) };
}

export function retryIn(json: JsonObject): AgentSaid[] | undefined {
  const [attempt, maxAttempts, delayMs] = ['attempt', 'max_retries', 'retry_delay_ms'].map((name) => numberIn(json, name));
  if (attempt === undefined) return undefined;
  const status = numberIn(json, 'error_status');
  const problem = `${stringIn(json, 'error') ?? 'unknown error'}${status === undefined ? '' : ` (${status})`}`;
  return [
    {
      type: 'retry',
      attempt,
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(delayMs === undefined ? {} : { delayMs }),
      problem,
    },
  ];
}
