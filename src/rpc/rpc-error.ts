// Failures of a call: those the peer reported, and those of the connection itself, which never get a wire code.

/** The error member of a reply. */
export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The peer answered with an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: RpcErrorBody) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The connection ended before the reply arrived, so it is unknown whether the call took effect. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  /** The peer announced that reconnecting would fail. */
  readonly isFinal: boolean;

  constructor(message: string, { isFinal = false }: { readonly isFinal?: boolean } = {}) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** The reply did not arrive in time; the connection itself may be fine. */
export class CallTimeoutError extends Error {
  override readonly name = 'CallTimeoutError';
}
