// Input for a command's stdin, split into pieces so that it is written at the pace the command reads.

/** Bytes for stdin: all at once, or as they become available. */
export type Input = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/** Maximum bytes per write. */
const pieceBytes = 64 * 1024;

export async function* piecesOf(input: Input): AsyncGenerator<Uint8Array> {
  const parts = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  for await (const part of parts) yield* slices(part);
}

function* slices(part: string | Uint8Array): Generator<Uint8Array> {
  const bytes = typeof part === 'string' ? new TextEncoder().encode(part) : part;
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
