// "Did you mean": the known name nearest to a mistyped one.

/** Undefined when no name is close enough: at most a third of its letters, or two, may differ. */
export function closestName(mistyped: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(mistyped, name) }))
    .filter(({ name, distance }) => distance <= Math.max(2, Math.floor(name.length / 3)) && distance < name.length)
    .toSorted((one, other) => one.distance - other.distance);
  return nearest?.name;
}

/** Most names shown when several begin with the mistyped one. */
const shownNames = 3;

/** Suggests names for an unknown one: those that begin with it, or else the nearest; undefined when there is neither. */
export function didYouMean(mistyped: string, names: readonly string[]): string | undefined {
  const longer = mistyped === '' ? [] : [...new Set(names)].filter((name) => name.startsWith(mistyped));
  if (longer.length > shownNames) return `${longer.length} names begin with it: ${longer.slice(-shownNames).join(', ')}...`;
  const meant = longer.length > 0 ? longer : [closestName(mistyped, names)].filter((name) => name !== undefined);
  return meant.length === 0 ? undefined : `did you mean ${meant.join(' or ')}?`;
}

/** Letters to insert, delete or replace to turn one word into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (one[at] === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
