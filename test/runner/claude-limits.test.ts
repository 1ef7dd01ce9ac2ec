// What blocks or slows claude down: rate limits and retries, with hand-written lines.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AdapterEvent } from '#src/runner/agent-event.js';
import { claude } from '#src/runner/adapters/claude.js';

/** The events of these lines, read by a new reader. */
function read(...lines: readonly object[]): AdapterEvent[] {
  const reader = claude().createReader();
  return lines.flatMap((line) => reader.read(JSON.stringify(line), 'stdout'));
}

describe('a rate limit', () => {
  const limit = (info: object) => ({ type: 'rate_limit_event', rate_limit_info: info });

  test('that allows requests is a status, even if overage is rejected', () => {
    const lines = [
      limit({ status: 'allowed', resetsAt: 1_794_740_000 }),
      limit({ status: 'allowed', overageStatus: 'rejected' }),
    ];
    assert.deepEqual(
      read(...lines),
      lines.map(() => ({ type: 'status', status: 'rate limit: allowed', isTransient: true })),
    );
  });

  test('that is near is a warning', () => {
    assert.deepEqual(read(limit({ status: 'allowed_warning', resetsAt: 1_794_740_000, rateLimitType: 'five_hour' })), [
      { type: 'rateLimit', state: 'warning', resetsAt: 1_794_740_000_000, limit: 'five_hour' },
    ]);
  });

  test('that rejects is a block until its reset, which is in seconds', () => {
    assert.deepEqual(read(limit({ status: 'rejected', resetsAt: 1_794_740_000, rateLimitType: 'seven_day' })), [
      { type: 'rateLimit', state: 'block', resetsAt: 1_794_740_000_000, limit: 'seven_day' },
    ]);
  });

  test('that rejects is only a warning while overage is in use', () => {
    assert.deepEqual(read(limit({ status: 'rejected', isUsingOverage: true })), [{ type: 'rateLimit', state: 'warning' }]);
  });

  test('has no reset when the value is not a plausible time', () => {
    const resets = [
      undefined,
      null,
      'soon',
      '2026-11-15',
      '2026-11-15T12:00:00',
      '2026-99-99T12:00:00Z',
      '1970-01-01T00:00:00Z',
      0,
      -5,
      3_600,
      1_794_740_000_000,
      1e300,
    ];
    assert.deepEqual(
      resets.flatMap((resetsAt) => read(limit({ status: 'rejected', resetsAt }))),
      resets.map(() => ({ type: 'rateLimit', state: 'block' })),
    );
  });

  test('has a reset that is a date with a time zone, under either name', () => {
    const resets = [
      { resetsAt: '2026-11-15T12:00:00Z' },
      { reset_at: '2026-11-15T12:00:00Z' },
      { reset_at: '2026-11-15t13:00:00.000+01:00' },
      { reset_at: '2026-11-15 12:00:00z' },
      { reset_at: 1_794_744_000 },
      { resetsAt: null, reset_at: '2026-11-15T12:00:00Z' },
    ];
    assert.deepEqual(
      resets.flatMap((reset) => read(limit({ status: 'rejected', ...reset }))),
      resets.map(() => ({ type: 'rateLimit', state: 'block', resetsAt: 1_794_744_000_000 })),
    );
  });

  test('of an unknown status is passed on whole', () => {
    const line = limit({ status: 'paused' });
    assert.deepEqual(read(line), [{ type: 'raw', stream: 'stdout', line }]);
  });
});

test('a retry has its number, its delay and its reason', () => {
  const retry = {
    type: 'system',
    subtype: 'api_retry',
    attempt: 2,
    max_retries: 10,
    retry_delay_ms: 600,
    error_status: 529,
  };
  assert.deepEqual(
    read({ ...retry, error: 'overloaded' }, { type: 'system', subtype: 'api_retry', attempt: 1, error_status: null }),
    [
      { type: 'retry', attempt: 2, maxAttempts: 10, delayMs: 600, problem: 'overloaded (529)' },
      { type: 'retry', attempt: 1, problem: 'unknown error' },
    ],
  );
});
