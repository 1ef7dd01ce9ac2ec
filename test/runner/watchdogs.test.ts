// The timers that watch a turn, exact to the millisecond of the test's clock.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AgentOptions, runLimits } from '#src/runner/agent-options.js';
import type { TreeActivity } from '#src/runner/tree-activity.js';
import { Watchdogs } from '#src/runner/watchdogs.js';
import { FakeClock } from '../support/fake-clock.js';

type Limits = Pick<AgentOptions, 'idleTimeoutMs' | 'turnTimeoutMs' | 'totalTimeoutMs' | 'idleBy'>;

/** What `ps` would report for one process that has used this many seconds. */
function usedSeconds(seconds: number, isBusy = false): TreeActivity {
  return new Map([[1, { seconds, isBusy }]]);
}

/** Watchdogs whose program has done what `look` returns; a turn is running. */
function watching(limits: Limits, look: (at: number) => TreeActivity | undefined = () => usedSeconds(0)) {
  const clock = new FakeClock();
  const expired: string[] = [];
  const watchdogs = new Watchdogs({
    clock,
    limits: runLimits(limits),
    look: async () => look(clock.elapsed()),
    expired: (name) => {
      expired.push(`${name} at ${clock.elapsed()}`);
      watchdogs.end();
    },
  });
  watchdogs.turnStarted();
  return { clock, watchdogs, expired };
}

describe('the idle watchdog', () => {
  test('gives up a silent, idle program at its timeout, not one look later', async () => {
    const { clock, expired } = watching({ idleTimeoutMs: 1_500 });
    await clock.advance(1_499);
    assert.deepEqual(expired, []);
    await clock.advance(1);
    assert.deepEqual(expired, ['idle at 1500']);
  });

  test('counts from the last output', async () => {
    const { clock, watchdogs, expired } = watching({ idleTimeoutMs: 1_500 });
    await clock.advance(1_000);
    watchdogs.output();
    await clock.advance(10_000);
    assert.deepEqual(expired, ['idle at 2500']);
  });

  test('counts from the last work that a look has found', async () => {
    const { clock, expired } = watching({ idleTimeoutMs: 1_000 }, (at) => usedSeconds(Math.min(at, 3_100)));
    await clock.advance(10_000);
    assert.deepEqual(expired, ['idle at 4250']); // the look at 3250 was the last to find new work
  });

  test('treats a program that is busy at every look as working', async () => {
    const { clock, watchdogs, expired } = watching({ idleTimeoutMs: 1_000 }, () => usedSeconds(0, true));
    await clock.advance(60_000);
    assert.deepEqual(expired, []);
    watchdogs.end();
  });

  test('relies on output alone if looks fail or are turned off', async () => {
    for (const [limits, look] of [
      [{ idleTimeoutMs: 1_000 }, () => undefined],
      [{ idleTimeoutMs: 1_000, idleBy: 'output' }, (at: number) => usedSeconds(at, true)],
    ] as const) {
      const { clock, expired } = watching(limits, look);
      await clock.advance(60_000);
      assert.deepEqual(expired, ['idle at 1000']);
    }
  });

  test('does not give up a program that prints something during the last look', async () => {
    const { clock, watchdogs, expired } = watching({ idleTimeoutMs: 1_000 }, (at) => {
      if (at === 1_000) watchdogs.output();
      return usedSeconds(0);
    });
    await clock.advance(60_000);
    assert.deepEqual(expired, ['idle at 2000']);
  });

  test('is stopped between turns', async () => {
    const { clock, watchdogs, expired } = watching({ idleTimeoutMs: 1_000, turnTimeoutMs: 5_000 });
    watchdogs.turnEnded();
    await clock.advance(60_000);
    assert.deepEqual([expired, clock.pendingMs], [[], []]);
  });
});

describe('the turn and total watchdogs', () => {
  test('expire on time, whatever the program does', async () => {
    for (const [limits, at] of [
      [{ turnTimeoutMs: 1_500 }, 'turn at 1500'],
      [{ totalTimeoutMs: 1_500 }, 'total at 1500'],
    ] as const) {
      const { clock, watchdogs, expired } = watching(limits);
      await clock.advance(1_499);
      watchdogs.output();
      assert.deepEqual(expired, []);
      await clock.advance(1);
      assert.deepEqual(expired, [at]);
    }
  });

  test('give the next turn its full time', async () => {
    const { clock, watchdogs, expired } = watching({ turnTimeoutMs: 1_000 });
    await clock.advance(900);
    watchdogs.turnStarted();
    await clock.advance(60_000);
    assert.deepEqual(expired, ['turn at 1900']);
  });
});

describe('a pause', () => {
  test('stops the idle and the turn time; afterwards the turn has its remaining time, and the idle time starts over', async () => {
    const turn = watching({ turnTimeoutMs: 1_000 });
    const idle = watching({ idleTimeoutMs: 1_000 });
    for (const { clock, watchdogs, expired } of [turn, idle]) {
      await clock.advance(400);
      watchdogs.pause();
      watchdogs.pause();
      await clock.advance(60_000);
      assert.deepEqual(expired, []);
      watchdogs.resume();
      watchdogs.resume();
      await clock.advance(60_000);
    }
    assert.deepEqual([turn.expired, idle.expired], [['turn at 61000'], ['idle at 61400']]);
  });

  test('does not stop the total time', async () => {
    const { clock, watchdogs, expired } = watching({ totalTimeoutMs: 1_000 });
    watchdogs.pause();
    await clock.advance(60_000);
    assert.deepEqual(expired, ['total at 1000']);
  });

  test('ends with its turn', async () => {
    const { clock, watchdogs } = watching({ idleTimeoutMs: 1_000, turnTimeoutMs: 1_000 });
    watchdogs.pause();
    watchdogs.turnEnded();
    watchdogs.resume();
    assert.deepEqual(clock.pendingMs, []);
  });
});

test('a timeout of 0 means no limit', async () => {
  const { clock, watchdogs, expired } = watching({ idleTimeoutMs: 0, turnTimeoutMs: 0, totalTimeoutMs: 0 });
  await clock.advance(60_000);
  assert.deepEqual([expired, clock.pendingMs], [[], []]);
  watchdogs.end();
});

test('a negative or NaN timeout is refused', () => {
  for (const name of ['idleTimeoutMs', 'turnTimeoutMs', 'totalTimeoutMs', 'exitPatienceMs'])
    for (const ms of [-1, Number.NaN])
      assert.throws(() => runLimits({ [name]: ms }), { message: `${name} must be 0 or more milliseconds, got ${ms}` });
});
