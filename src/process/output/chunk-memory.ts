// Memory for what a log retains, used again for the next chunk. Left to the collector it is found late: a flood through a log of one megabyte
// took another six.

/** Largest piece of output in one entry; also what Codex's client takes without trouble. */
export const chunkBytes = 64 * 1024;

/** As many as a log of the default size evicts and takes again. */
const spareChunks = 16;

const spare: Uint8Array[] = [];

/** Small ones are cut from Node's pool, which costs a fifth of memory of their own; none is filled with zeros first. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = (bytes.length === chunkBytes ? spare.pop() : undefined) ?? Buffer.allocUnsafe(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Takes back a copy that nobody else has. */
export function reuse(copy: Uint8Array): void {
  if (copy.length === chunkBytes && spare.length < spareChunks) spare.push(copy);
}
