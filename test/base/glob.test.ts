// Globs, compared with equivalent regular expressions.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { comparisonBound, globMatcher } from '#src/base/glob.js';

describe('a glob', () => {
  test('matches what its regular expression matches', () => {
    const glob = fc.array(fc.constantFrom('*', '?', 'a', 'B', '.', '\n'), { maxLength: 8 }).map((parts) => parts.join(''));
    const name = fc.array(fc.constantFrom('a', 'A', 'b', '.', '\n'), { maxLength: 10 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(glob, name, (pattern, text) => {
        const source = pattern.replaceAll('.', '\\.').replaceAll('*', '[^]*').replaceAll('?', '[^]');
        assert.equal(globMatcher([pattern])(text), new RegExp(`^${source}$`, 'i').test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is enough if it is one of several to match; without globs nothing matches', () => {
    assert.deepEqual(['A', 'B', 'C'].filter(globMatcher(['a', 'c'])), ['A', 'C']);
    assert.equal(globMatcher([])(''), false);
  });

  test('costs at most the product of the lengths, where empty texts count too', () => {
    assert.equal(comparisonBound(['ab', ''], ['abc', '', '']), 4 * 6);
    assert.equal(comparisonBound([], ['abc']), 0);
  });
});
