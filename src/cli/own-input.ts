// Our own stdin: what cannot be read is never taken for its end.

import { fstatSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { devNull } from 'node:os';
import type { Readable } from 'node:stream';
import { StreamFailure } from './own-output.js';

/** Throws for a folder, which Node would show as an empty stdin. */
export function requireReadableInput(): void {
  if (fstatSync(0).isDirectory()) throw new Error('cannot read stdin: it is a folder');
}

export function openInput(): typeof process.stdin {
  requireReadableInput();
  return process.stdin;
}

/**
 * A read of stdin has failed. Undefined where that is the end of the input and no failure: a terminal that went away, and the null device
 * opened for writing only, which `nohup` gives a program that is started at a terminal.
 */
export function inputFailure(error: Error): StreamFailure | undefined {
  const code = 'code' in error ? error.code : undefined;
  const isEnd = (code === 'EIO' && process.stdin.isTTY) || (code === 'EBADF' && isNullDevice());
  return isEnd ? undefined : new StreamFailure('cannot read stdin', error);
}

function isNullDevice(): boolean {
  return fstatSync(0).rdev === statSync(devNull).rdev;
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
