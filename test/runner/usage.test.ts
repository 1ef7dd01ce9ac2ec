// Tokens and cost: the latest running total counts, and sessions are kept apart.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Usage, addUsage, summarizeRuns, totals, usageSince } from '#src/runner/index.js';

const tokens = (inputTokens: number, outputTokens = 0) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

test('the usage of a turn is the difference of two running totals', () => {
  const before: Usage = { models: { a: tokens(10, 1) }, costUsd: 0.5 };
  const total: Usage = { models: { a: tokens(25, 3), b: tokens(7) }, costUsd: 0.75 };
  assert.deepEqual(usageSince(total, before), { models: { a: tokens(15, 2), b: tokens(7) }, costUsd: 0.25 });
  assert.deepEqual(usageSince(total, undefined), total);
});

test('the usage of sessions is summed per model', () => {
  const one: Usage = { models: { a: tokens(1) }, costUsd: 1 };
  assert.deepEqual(addUsage(one, { models: { a: tokens(2), b: tokens(3) } }), {
    models: { a: tokens(3), b: tokens(3) },
    costUsd: 1,
  });
  assert.deepEqual(addUsage({ models: {} }, { models: {} }), { models: {} });
});

test('a run that resumed a session is charged for what was added; a torn file still counts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  try {
    const log = (runId: string, lines: readonly object[], rest = '') =>
      writeFileSync(join(folder, `${runId}.jsonl`), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n${rest}`);
    const stamp = { at: 1, seq: 1, turn: 1 };
    const header = (runId: string, resume?: string) => ({
      type: 'run',
      runId,
      adapter: 'claude',
      cwd: '/',
      at: 1,
      ...(resume === undefined ? {} : { resume }),
    });
    const session = { ...stamp, type: 'session', sessionId: 's' };
    const used = (input: number) => ({ ...stamp, type: 'usage', usage: { models: { m: tokens(input) }, costUsd: input / 10 } });
    log('1', [header('1'), session, used(3), used(10), { ...stamp, type: 'ended', outcome: { kind: 'completed' } }]);
    log('2', [header('2', 's'), session, used(14)], '{"type":"usa');
    writeFileSync(join(folder, 'other.jsonl'), 'not a log\n');
    const runs = await summarizeRuns(folder);
    assert.deepEqual(
      runs.map(({ runId, sessionId, outcome, usage }) => [runId, sessionId, outcome, usage.models['m']?.inputTokens]),
      [
        ['1', 's', 'completed', 10],
        ['2', 's', undefined, 4],
      ],
    );
    assert.deepEqual((await totals(folder)).models, { m: tokens(14) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
