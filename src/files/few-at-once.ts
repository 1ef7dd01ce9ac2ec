// Runs many small calls of the file system with few under way at a time.

/** Enough to keep the four threads of Node's pool busy; more would only delay other callers. */
const fewCalls = 8;

/** The results in the order of the list. After a failure no further call starts. */
export async function fewAtOnce<T, R>(list: readonly T[], call: (element: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = list.entries(); // shared, so each element is taken once
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const [at, element] of rest) {
      if (hasFailed) return;
      try {
        results[at] = await call(element);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(fewCalls, list.length) }, work));
  return results;
}
