// Refused requests: the first of each address is logged, the rest are counted, and an attacker cannot flood the log or the table.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LogFields, silentLogger } from '#src/base/logger.js';
import { refusalLogLimits } from '#src/server/config.js';
import { silentMetrics } from '#src/server/metrics.js';
import { RefusalLog } from '#src/server/refusal-log.js';
import { FakeClock } from '../support/fake-clock.js';

const problem = 'the token is unknown to this server';

function journal() {
  const lines: [string, LogFields | undefined][] = [];
  const statuses: number[] = [];
  const clock = new FakeClock();
  const refusals = new RefusalLog({
    clock,
    logger: { ...silentLogger, info: (message, fields) => void lines.push([message, fields]) },
    metrics: { ...silentMetrics, refused: (status) => void statuses.push(status) },
  });
  const refuse = (address: string) => refusals.add({ address, status: 401, problem });
  return { refusals, refuse, lines, statuses, clock };
}

describe('refused requests', () => {
  test('from one address get a line for the first, and one for the number that followed in the window', async () => {
    const { refuse, lines, statuses, clock } = journal();
    for (let index = 0; index < 100; index += 1) refuse('192.0.2.1');
    refuse('192.0.2.2');
    const first = (address: string) => ['request refused', { address, status: 401, problem }];
    assert.deepEqual(lines, [first('192.0.2.1'), first('192.0.2.2')]);
    await clock.advance(refusalLogLimits.windowMs);
    assert.deepEqual(lines.slice(2), [['more requests refused', { address: '192.0.2.1', refusals: 99 }]]);
    assert.equal(statuses.length, 101);
    refuse('192.0.2.1');
    assert.deepEqual(lines.slice(3), [first('192.0.2.1')]);
  });

  test('from more addresses than the table holds share one line', () => {
    const { refusals, refuse, lines, statuses } = journal();
    const count = refusalLogLimits.maxAddresses + 1_000;
    for (let index = 0; index < count; index += 1) refuse(`2001:db8::${index.toString(16)}`);
    assert.equal(lines.length, refusalLogLimits.maxAddresses);
    refusals.flush();
    assert.deepEqual(lines.at(-1), ['more requests refused', { address: 'other addresses', refusals: 1_000 }]);
    assert.equal(statuses.length, count);
  });

  test('leave no timer behind when the window is ended early, and nothing is logged twice', async () => {
    const { refusals, refuse, lines, clock } = journal();
    refuse('192.0.2.1');
    refuse('192.0.2.1');
    refusals.flush();
    assert.deepEqual(clock.pendingMs, []);
    refusals.flush();
    assert.equal(lines.length, 2);
  });
});
