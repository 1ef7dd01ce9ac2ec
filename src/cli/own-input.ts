// Our own stdin. A failed read is never mistaken for the end of input.

import { fstatSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { devNull } from 'node:os';
import type { Readable } from 'node:stream';
import { StreamFailure } from './own-output.js';

/** Throws for a folder, which Node would present as an empty stdin. */
export function requireReadableInput(): void {
  if (fstatSync(0).isDirectory()) throw new Error('cannot read stdin: it is a folder');
}

export function openInput(): typeof process.stdin {
  requireReadableInput();
  return process.stdin;
}

/**
 * Explains a failed read of stdin. Undefined when it is just the end of input: a terminal that went away, or the null device opened for
 * writing only, which `nohup` gives a program that is started at a terminal.
 */
export function inputFailure(error: Error): StreamFailure | undefined {
  const code = 'code' in error ? error.code : undefined;
  const isEnd = (code === 'EIO' && process.stdin.isTTY) || (code === 'EBADF' && isNullDevice());
  return isEnd ? undefined : new StreamFailure('cannot read stdin', error);
}

function isNullDevice(): boolean {
  return fstatSync(0).rdev === statSync(devNull).rdev;
}

/** Passes on the pieces of stdin up to its end. */
export async function* untilEnd<T>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pieces;
  } catch (error) {
    const failure = error instanceof Error ? inputFailure(error) : new Error('cannot read stdin', { cause: error });
    if (failure !== undefined) throw failure;
  }
}

/** Stops reading stdin, since a pending read would keep us alive. A terminal stays open, because its mode has yet to be restored. */
export function releaseInput(): void {
  const stdin: Readable = process.stdin; // for a file it is not a socket, whatever its type says
  stdin.pause();
  if (stdin instanceof Socket) stdin.unref();
  else stdin.destroy();
}
