// How a value is shown in an error: recognisable, escaped, and short.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { shownValue } from '#src/base/shown-value.js';

describe('a value in an error', () => {
  test('is shown as it would be written', () => {
    const values = ['5s', 1.5, NaN, true, null, undefined, [], ['a', 1], {}, { kind: 'tty', rows: 0 }];
    assert.deepEqual(values.map(shownValue), [
      '"5s"',
      '1.5',
      'NaN',
      'true',
      'null',
      'nothing',
      '[]',
      '["a", 1]',
      '{}',
      '{"kind": "tty", "rows": 0}',
    ]);
  });

  test('is described when it has no literal form', () => {
    const values = [() => 1, Symbol('x'), 10n ** 30n, new Date(0), new Map(), Uint8Array.of(1, 2)];
    assert.deepEqual(values.map(shownValue), ['a function', 'a symbol', 'a bigint', 'a Date', 'a Map', '2 bytes']);
  });

  test('is truncated when it is long, with its length', () => {
    assert.equal(shownValue('x'.repeat(1_000)), `"${'x'.repeat(60)}…" (1000 characters)`);
    assert.equal(shownValue([1, 2, 3, 4]), '[1, 2, 3, …] (4 items)');
    assert.equal(shownValue({ a: 1, b: 2, c: 3, d: 4 }), '{"a": 1, "b": 2, "c": 3, …}');
    assert.equal(shownValue([[[['deep']]]]), '[[[…] (1 items)]]');
  });

  test('contains no character that a terminal or a log would interpret', () => {
    const text = 'a\u001b[2J\n\u007f\u009b\u202e\u2028\ud800"\\';
    assert.equal(shownValue(text), '"a\\u001b[2J\\n\\u{7f}\\u{9b}\\u{202e}\\u{2028}\\ud800\\"\\\\"');
  });

  test('takes one line of at most 401 characters, for any value', () => {
    const worst = '\u001b'.repeat(100);
    assert.equal(shownValue({ [worst]: [worst, worst], more: worst }).length, 401);
    fc.assert(
      fc.property(
        fc.anything({ maxDepth: 6, withDate: true, withMap: true, withBigInt: true, withNullPrototype: true }),
        (value) => {
          const text = shownValue(value);
          assert.ok(text.length <= 401, text);
          assert.doesNotMatch(text, /[\p{C}\p{Zl}\p{Zp}]/u);
        },
      ),
    );
  });
});
