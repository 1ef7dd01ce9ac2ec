// What blocks or slows claude down: rate limits of the account and errors of the model's API.

import type { AdapterEvent } from '../agent-event.js';
import { type JsonObject, numberIn, objectIn, stringIn } from './json-members.js';

/** The range of plausible Unix times in seconds: later than 2001, and less than the same time would be in milliseconds. */
const plausibleSeconds = { from: 1e9, below: 1e11 };

/** An RFC 3339 date and time with a time zone. */
const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/**
 * `allowed` accompanies ordinary requests and is not a limit. An unknown status is neither treated as a block nor hidden: it comes through
 * as `raw`.
 */
export function rateLimitIn(json: JsonObject): AdapterEvent[] | undefined {
  const limits = objectIn(json, 'rate_limit_info');
  switch (stringIn(limits, 'status') ?? '') {
    case 'allowed':
      return [{ type: 'status', status: 'rate limit: allowed', isTransient: true }];
    case 'allowed_warning':
      return [{ type: 'rateLimit', state: 'warning', ...resetOf(limits) }];
    case 'rejected':
      // Over the limit, but overage is billed separately, so requests still succeed.
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

/** Milliseconds since the Unix epoch, from seconds or a date; undefined when the value is neither. */
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
