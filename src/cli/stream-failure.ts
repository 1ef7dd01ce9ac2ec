// A standard stream of ours that failed, in words a user understands.

import { getSystemErrorMap } from 'node:util';

export class StreamFailure extends Error {
  override readonly name = 'StreamFailure';

  /** `what` is as in "cannot write to stdout"; the reason is the system's. */
  constructor(what: string, cause: Error) {
    super(`${what}: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(error: Error): string {
  const known = 'errno' in error && typeof error.errno === 'number' ? getSystemErrorMap().get(error.errno) : undefined;
  return known?.[1] ?? error.message;
}
