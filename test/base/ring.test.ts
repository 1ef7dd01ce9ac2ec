// The queue, compared with a plain array.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Ring } from '#src/base/ring.js';

test('behaves like an array for any sequence of pushes and shifts', () => {
  const steps = fc.array(fc.option(fc.integer(), { nil: 'shift' as const }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const ring = new Ring<number>();
      const list: number[] = [];
      for (const step of all) {
        if (step !== 'shift') {
          ring.push(step);
          list.push(step);
        } else assert.equal(ring.shift(), list.shift());
        assert.equal(ring.length, list.length);
        assert.deepEqual([...ring], list);
        assert.deepEqual([ring.at(-1), ring.at(0), ring.at(list.length)], [undefined, list[0], undefined]);
      }
    }),
  );
});
