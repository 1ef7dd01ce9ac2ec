// Adds a value to a set until it is disposed.

export function addedTo<T>(set: Set<T>, value: T): Disposable {
  set.add(value);
  return { [Symbol.dispose]: () => void set.delete(value) };
}
