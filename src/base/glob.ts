// Globs: `*` matches any run of characters, `?` exactly one. Matched by hand, because a regular expression built from a
// caller's `*a*a*a*b` takes exponential time.

/**
 * Most character comparisons that one set of globs may cost: about 0.2 s at worst. A thousand variables against a hundred globs stay
 * far below; only input crafted for the purpose gets close.
 */
export const mostComparisons = 2 ** 27;

/** An upper bound on the comparisons needed to match every name against every glob. */
export function comparisonBound(globs: readonly string[], names: readonly string[]): number {
  return lengthOf(globs) * lengthOf(names);
}

/** Returns a function that tells whether a whole name matches one of the globs. */
export function globMatcher(globs: readonly string[], letters: 'anyCase' | 'exactCase' = 'anyCase'): (name: string) => boolean {
  const folded = (text: string): string => (letters === 'anyCase' ? text.toLowerCase() : text);
  const foldedGlobs = globs.map(folded);
  return (name) => {
    const foldedName = folded(name);
    return foldedGlobs.some((glob) => matches(glob, foldedName));
  };
}

/**
 * On a mismatch only the last star backtracks, by one more character: extending an earlier star cannot produce a match that this misses.
 * So the cost is at most the product of both lengths.
 */
function matches(glob: string, name: string): boolean {
  let [atGlob, atName] = [0, 0];
  let lastStar = -1;
  let afterStar = 0;
  while (atName < name.length) {
    if (glob[atGlob] === '*') {
      lastStar = atGlob;
      afterStar = atName;
      atGlob += 1;
    } else if (glob[atGlob] === '?' || glob[atGlob] === name[atName]) {
      atGlob += 1;
      atName += 1;
    } else if (lastStar >= 0) {
      afterStar += 1;
      atGlob = lastStar + 1;
      atName = afterStar;
    } else {
      return false;
    }
  }
  while (glob[atGlob] === '*') atGlob += 1;
  return atGlob === glob.length;
}

/** Adds one for each text, so that empty ones count too. */
function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length + 1, 0);
}
