// What can be fed to a command's stdin, in pieces that go at the pace it reads.

/** Bytes to feed to stdin: all at once, or as they come. */
export type Input = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/** Bytes per write. */
const pieceBytes = 64 * 1024;

export async function* piecesOf(input: Input): AsyncGenerator<Uint8Array> {
  const parts = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  for await (const part of parts) yield* slices(part);
}

function* slices(part: string | Uint8Array): Generator<Uint8Array> {
  const bytes = typeof part === 'string' ? new TextEncoder().encode(part) : part;
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
