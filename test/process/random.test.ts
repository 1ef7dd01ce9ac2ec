// Random numbers without Node's crypto.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomBelow, randomBytes, randomUuid } from '#src/process/random.js';

test('bytes are as many as asked for, and never the same again', () => {
  assert.equal(randomBytes(0).length, 0);
  assert.equal(randomBytes(12).length, 12);
  assert.notDeepEqual(randomBytes(16), randomBytes(16));
});

test('numbers stay below their limit and reach all of it', () => {
  const seen = new Set(Array.from({ length: 1_000 }, () => randomBelow(4)));
  assert.deepEqual(
    [...seen].toSorted((one, other) => one - other),
    [0, 1, 2, 3],
  );
});

test('a UUID is one of version 4, and unique', () => {
  const ids = Array.from({ length: 1_000 }, randomUuid);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  const variety = Array.from({ length: 36 }, (_, at) => new Set(ids.map((id) => id[at])).size);
  assert.deepEqual(
    variety,
    'gggggggg-gggg-1ggg-4ggg-gggggggggggg'.split('').map((each) => ({ g: 16, '-': 1, 1: 1, 4: 4 })[each]),
  );
});
