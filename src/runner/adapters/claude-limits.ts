// What holds claude up: rate limits of the account and errors of the model's server.

import type { AdapterEvent } from '../agent-event.js';
import { type JsonObject, numberIn, objectIn, stringIn } from './json-members.js';

/** Seconds since the Unix epoch that can be meant: from 2001 on, and below what milliseconds would be. */
const plausibleSeconds = { from: 1e9, below: 1e11 };

/** A date and time with its zone, as RFC 3339 has it. */
const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** `allowed` comes with ordinary requests and is no limit. A status that is not known is neither taken for a block nor hidden. */
export function rateLimitIn(json: JsonObject): AdapterEvent[] | undefined {
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
  const limit = stringIn(limits, 'rateLimitType');
  const resetsAt = timeIn(limits, 'resetsAt') ?? timeIn(limits, 'reset_at');
  return { ...(resetsAt === undefined ? {} : { resetsAt }), ...(limit === undefined ? {} : { limit }) };
}

/** In milliseconds since the Unix epoch, from seconds or from a date; undefined where neither can be meant. */
function timeIn(limits: JsonObject | undefined, name: string): number | undefined {
  const date = stringIn(limits, name) ?? '';
  const seconds = dateTime.test(date) ? Date.parse(date.toUpperCase().replace(' ', 'T')) / 1_000 : numberIn(limits, name);
  const isPlausible = seconds !== undefined && seconds >= plausibleSeconds.from && seconds < plausibleSeconds.below;
  return isPlausible ? seconds * 1_000 : undefined;
}

export function retryIn(json: JsonObject): AdapterEvent[] | undefined {
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
