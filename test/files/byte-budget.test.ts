import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ByteBudget } from '#src/files/index.js';
import { settled } from '../support/eventually.js';

describe('a byte budget', () => {
  test('grants what fits at once', async () => {
    const budget = new ByteBudget(10);
    const [one, other] = await Promise.all([budget.take(4), budget.take(6)]);
    assert.equal(budget.heldBytes, 10);
    one.release();
    other.release();
    other.release();
    assert.equal(budget.heldBytes, 0);
  });

  test('lets requests wait in their order', async () => {
    const budget = new ByteBudget(10);
    const first = await budget.take(8);
    const order: string[] = [];
    const large = budget.take(9).then((lease) => {
      order.push('large');
      return lease;
    });
    const small = budget.take(1).then((lease) => {
      order.push('small');
      return lease;
    });
    assert.equal(budget.waiting, 2);
    assert.equal(await settled(() => order.length), 0);
    first.release();
    const leases = await Promise.all([large, small]);
    assert.deepEqual(order, ['large', 'small']);
    for (const lease of leases) lease.release();
    assert.equal(budget.heldBytes, 0);
  });

  test('grants more than it has when everything has been returned', async () => {
    const budget = new ByteBudget(10);
    const first = await budget.take(1);
    const huge = budget.take(100);
    assert.equal(budget.waiting, 1);
    first.release();
    const lease = await huge;
    assert.equal(budget.heldBytes, 100);
    lease.grow(5);
    assert.equal(budget.heldBytes, 105);
    lease.release();
    assert.equal(budget.heldBytes, 0);
  });
});
