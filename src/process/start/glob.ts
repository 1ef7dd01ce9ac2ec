// Globs over names: `*` stands for any run of characters, `?` for one, and case does not matter. Written by hand, because a regular
// expression made from a caller's `*a*a*a*b` takes exponential time.

/**
 * Most character comparisons that one set of globs may cost, about 0.2 s at worst. A thousand variables against a hundred globs stay
 * far below; only text made for the purpose comes near.
 */
export const mostComparisons = 2 ** 27;

/** An upper bound on the comparisons that every glob against every name can take. */
export function comparisonBound(globs: readonly string[], names: readonly string[]): number {
  return lengthOf(globs) * lengthOf(names);
}

/** True for names that match one of the globs as a whole. */
export function globMatcher(globs: readonly string[]): (name: string) => boolean {
  const folded = globs.map((glob) => glob.toLowerCase());
  return (name) => {
    const foldedName = name.toLowerCase();
    return folded.some((glob) => matches(glob, foldedName));
  };
}

/**
 * When characters differ, only the last star seen takes one more character: earlier stars took as little as they could, and taking more
 * there helps nothing. So the cost is at most the product of both lengths.
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

/** One more for each text, so that empty ones count. */
function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length + 1, 0);
}
