// Everything a process writes, as text, read to its end.

import type { ProcessHandle } from '#src/index.js';

export async function outputText({ output }: Pick<ProcessHandle, 'output'>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of output) pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}
