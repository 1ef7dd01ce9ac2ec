// Long work in short slices.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Slices } from '#src/process/end/slices.js';

/** A fake clock that the work drives: each step takes a millisecond. */
function stepping(t: { mock: { method(object: typeof performance, name: 'now', now: () => number): unknown } }) {
  let now = 0;
  const steps: string[] = [];
  t.mock.method(performance, 'now', () => now);
  const work = function* (name: string, count: number): Generator<void, string> {
    for (let step = 1; step <= count; step += 1) {
      now += 1;
      steps.push(`${name}${step}`);
      yield;
    }
    return name;
  };
  return { steps, work };
}

describe('work in slices', () => {
  test('begins immediately, and continues in the next turn when its time is up', async (t) => {
    const { steps, work } = stepping(t);
    const slices = new Slices(2);
    const result = slices.run(work('a', 3));
    assert.deepEqual(steps, ['a1', 'a2']);
    await nextTurn();
    assert.deepEqual([steps, await result], [['a1', 'a2', 'a3'], 'a']);
  });

  test('shares the time of one turn, and the oldest and newest task alternate', async (t) => {
    const { steps, work } = stepping(t);
    const slices = new Slices(2);
    const results = [slices.run(work('a', 4)), slices.run(work('b', 1)), slices.run(work('c', 1))];
    assert.deepEqual(steps, ['a1', 'a2']);
    assert.deepEqual(await Promise.all(results), ['a', 'b', 'c']);
    assert.deepEqual(steps, ['a1', 'a2', 'a3', 'c1', 'a4', 'b1']);
  });

  test('that fails does not keep the next task from running', async (t) => {
    const { work } = stepping(t);
    const slices = new Slices(1);
    const failing = slices.run({
      next: () => {
        throw new Error('no such luck');
      },
    });
    const next = slices.run(work('a', 1));
    await assert.rejects(failing, { message: 'no such luck' });
    assert.equal(await next, 'a');
  });
});
