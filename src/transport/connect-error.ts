// The error for a channel that could not be opened. Imports nothing, so that code for browsers can catch it too.

export interface ConnectErrorOptions {
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** The HTTP status the server refused with, such as 401; undefined when no HTTP response arrived. */
  readonly status: number | undefined;

  constructor(message: string, { status, cause }: ConnectErrorOptions = {}) {
    super(message, { cause });
    this.status = status;
  }
}
