// Globs, compared with the regular expressions they stand for.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { comparisonBound, globMatcher } from '#src/process/start/glob.js';

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

  test('is one of several of which one suffices; without any nothing matches', () => {
    assert.deepEqual(['A', 'B', 'C'].filter(globMatcher(['a', 'c'])), ['A', 'C']);
    assert.equal(globMatcher([])(''), false);
  });

  test('costs at most the product of the lengths, in which empty texts count', () => {
    assert.equal(comparisonBound(['ab', ''], ['abc', '', '']), 4 * 6);
    assert.equal(comparisonBound([], ['abc']), 0);
  });
});
