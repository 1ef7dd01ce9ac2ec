// Our own stdin: what cannot be read is never taken for its end.

import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { StreamFailure } from './stream-failure.js';

/** Throws for a folder, which Node would show as an empty stdin. */
export function requireReadableInput(): void {
  if (fstatSync(0).isDirectory()) throw new Error('cannot read stdin: it is a folder');
}

export function openInput(): typeof process.stdin {
  requireReadableInput();
  return process.stdin;
}

/**
 * A read of stdin has failed. Undefined where that is the end of the input and no failure: a terminal that went away, and a stdin that is
 * not open for reading, which `nohup` gives a program that is started at a terminal.
 */
export function inputFailure(error: Error): StreamFailure | undefined {
  const code = 'code' in error ? error.code : undefined;
  const isEnd = code === 'EBADF' || (code === 'EIO' && process.stdin.isTTY);
  return isEnd ? undefined : new StreamFailure('cannot read stdin', error);
}

/** What is read of stdin, up to its end. */
export async function* untilEnd<T>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pieces;
  } catch (error) {
    const failure = error instanceof Error ? inputFailure(error) : new Error('cannot read stdin', { cause: error });
    if (failure !== undefined) throw failure;
  }
}

/** A read on it would keep us alive. A terminal stays open: what was changed about it is yet to be put right. */
export function letGoOfInput(): void {
  const stdin: Readable = process.stdin; // a file's is no socket, whatever its type says
  stdin.pause();
  if (stdin instanceof Socket) stdin.unref();
  else stdin.destroy();
}
