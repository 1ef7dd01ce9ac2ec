// Recycles the memory of log chunks. The garbage collector would free it too late: a flood through a log of one megabyte took another six.

/** Largest chunk of output in one entry; Codex's client handles this size without problems. */
export const chunkBytes = 64 * 1024;

/** The number of chunks in a log of the default size, which evicts and refills them. */
const spareChunks = 16;

const spare: Uint8Array[] = [];

/** Small copies come from Node's pool, which costs a fifth of separate allocations; none is zero-filled first. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = (bytes.length === chunkBytes ? spare.pop() : undefined) ?? Buffer.allocUnsafe(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Takes back a copy to which no other reference exists. */
export function reuse(copy: Uint8Array): void {
  if (copy.length === chunkBytes && spare.length < spareChunks) spare.push(copy);
}
