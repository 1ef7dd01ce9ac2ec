// Our own stdout and stderr. A write either completes or fails for its caller, and a reader that is gone is a different error from a
// failed write. Nothing else in the command line writes to either of them.

import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { getSystemErrorMap } from 'node:util';
import { visible } from './visible-text.js';

/** The reader of our stdout is gone. Nothing is printed about it; only the exit status shows it. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** One of our standard streams, or a file used in place of one, failed; the message is in words a user understands. */
export class StreamFailure extends Error {
  override readonly name = 'StreamFailure';

  /** `what` is as in "cannot write to stdout"; the system's reason is appended. */
  constructor(what: string, cause: Error) {
    const known = 'errno' in cause && typeof cause.errno === 'number' ? getSystemErrorMap().get(cause.errno) : undefined;
    super(`${what}: ${known?.[1] ?? cause.message}`, { cause });
  }
}

/** Resolves when stdout has taken all of it. Rejects with `ReaderGone`, or with `StreamFailure` when the write fails for another reason. */
export async function print(text: string | Uint8Array): Promise<void> {
  const error = await write('stdout', text);
  if (error === undefined) return;
  if (isReaderGone(error)) throw new ReaderGone('the reader of stdout is gone', { cause: error });
  throw new StreamFailure('cannot write to stdout', error);
}

/** The same for stderr, except that a missing reader is ignored and the work continues. */
export async function printError(text: string | Uint8Array): Promise<void> {
  const error = await write('stderr', text);
  if (error !== undefined && !isReaderGone(error)) throw new StreamFailure('cannot write to stderr', error);
}

/** Prints the text as one line on stderr, whatever it contains. A failed write is ignored: there is nowhere left to report it. */
export async function complain(text: string, lineEnd: '\n' | '\r\n' = '\n'): Promise<void> {
  await write('stderr', `sluice: ${visible(text.trim().replaceAll(/\s*\n\s*/g, ' '))}${lineEnd}`);
}

const descriptors = { stdout: 1, stderr: 2 } as const;

/** Resolves to the error, if any, once everything is written or the rest is lost. */
async function write(name: 'stdout' | 'stderr', text: string | Uint8Array): Promise<Error | undefined> {
  const stream: Writable = process[name]; // for a file it is not a socket, whatever its type says
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  // Only a pipe, a socket or a terminal is a Socket. For a file Node takes a short write, as on a nearly full disk, for a complete one.
  if (!(stream instanceof Socket)) return writeToFile(descriptors[name], bytes);
  // Each write reports errors to its own caller; an error event without a listener would end us.
  if (stream.listenerCount('error') === 0) stream.on('error', () => {});
  return new Promise((resolve) => stream.write(bytes, (error) => resolve(error ?? undefined)));
}

function writeToFile(fd: number, bytes: Uint8Array): Error | undefined {
  try {
    for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isReaderGone(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}
