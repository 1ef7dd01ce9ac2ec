// A channel that could not be opened. Neutral, like whoever may catch it.

export interface ConnectErrorOptions {
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** The HTTP status the server refused with, such as 401; absent when it did not come to that. */
  readonly status: number | undefined;

  constructor(message: string, { status, cause }: ConnectErrorOptions = {}) {
    super(message, { cause });
    this.status = status;
  }
}
