// Runs many small calls of the file system with few under way at a time.

/** Enough to keep the four threads of Node's pool busy; more would only delay other callers. */
const fewCalls = 8;

/** The results in the order of the list. After a failure no further call starts. */
export async function fewAtOnce<T, R>(list: readonly T[], call: (element: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < list.length; at = next++) {
      const [element] = list.slice(at, at + 1);
      if (element === undefined) continue;
      try {
        results[at] = await call(element);
      } catch (error) {
        next = list.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(fewCalls, list.length) }, work));
  return results;
}
